//! TOML.

use std::ops::Range;

use serde_json::Value;
use toml_edit::{
    Array, ArrayOfTables, Document, DocumentMut, InlineTable, Item, Table, TableLike, TomlError,
};

use super::{EditError, Scalar, SyntaxError, plain_text};
use crate::edit::{Container, Edit, Entry};

pub(super) fn parse(text: &str) -> Result<Value, SyntaxError> {
    let document = Document::parse(text).map_err(|error| syntax_error(text, &error))?;
    Ok(table_to_value(document.as_table()))
}

fn syntax_error(text: &str, error: &TomlError) -> SyntaxError {
    let (line, column) = super::position(text, error.span().map_or(0, |span| span.start));
    SyntaxError {
        line,
        column,
        message: error.message().to_owned(),
    }
}

fn table_to_value(table: &dyn TableLike) -> Value {
    let members = table.iter().filter(|(_, item)| !item.is_none());
    Value::Object(
        members
            .map(|(name, item)| (name.to_owned(), item_to_value(item)))
            .collect(),
    )
}

fn item_to_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => to_json(value),
        Item::Table(table) => table_to_value(table),
        Item::ArrayOfTables(tables) => {
            Value::Array(tables.iter().map(|table| table_to_value(table)).collect())
        }
    }
}

fn to_json(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().clone().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(flag) => (*flag.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(values) => Value::Array(values.iter().map(to_json).collect()),
        toml_edit::Value::InlineTable(table) => table_to_value(table),
    }
}

pub(super) fn scalars(text: &str) -> Result<Vec<Scalar>, SyntaxError> {
    let document = Document::parse(text).map_err(|error| syntax_error(text, &error))?;
    let mut found = Vec::new();
    collect_from_table(document.as_table(), &mut Vec::new(), &mut found);
    found.sort_by_key(|scalar| scalar.range.start);
    Ok(found)
}

fn collect_from_table(table: &dyn TableLike, path: &mut Vec<String>, found: &mut Vec<Scalar>) {
    for (name, item) in table.iter() {
        path.push(name.to_owned());
        match item {
            Item::None => {}
            Item::Value(value) => collect_from_value(value, path, found),
            Item::Table(table) => collect_from_table(table, path, found),
            Item::ArrayOfTables(tables) => {
                for table in tables {
                    path.push(String::new());
                    collect_from_table(table, path, found);
                    path.pop();
                }
            }
        }
        path.pop();
    }
}

fn collect_from_value(value: &toml_edit::Value, path: &mut Vec<String>, found: &mut Vec<Scalar>) {
    match value {
        toml_edit::Value::Array(values) => {
            for value in values {
                path.push(String::new());
                collect_from_value(value, path, found);
                path.pop();
            }
        }
        toml_edit::Value::InlineTable(table) => collect_from_table(table, path, found),
        toml_edit::Value::Boolean(_) => {}
        toml_edit::Value::String(_)
        | toml_edit::Value::Integer(_)
        | toml_edit::Value::Float(_)
        | toml_edit::Value::Datetime(_) => {
            let text = plain_text(&to_json(value));
            found.extend(value.span().map(|range| Scalar {
                path: path.clone(),
                value: text,
                range,
            }));
        }
    }
}

pub(super) fn edit(text: &str, edit: &Edit) -> Result<String, EditError> {
    match edit {
        Edit::SetEntry {
            container,
            name,
            entry,
        } => set_entry(text, container, name, entry),
        Edit::RemoveEntry { container, name } => remove_entry(text, container, name),
        Edit::AddText { list, .. } | Edit::RemoveText { list, .. } => {
            Err(EditError::UnsafeLayout(list.join(".")))
        }
    }
}

fn set_entry(
    text: &str,
    container: &Container,
    name: &str,
    entry: &Entry,
) -> Result<String, EditError> {
    let mut document: DocumentMut = text.parse().map_err(|error| syntax_error(text, &error))?;
    let wrong_type = || EditError::WrongType(container.path.join("."));
    let is_new = match find_servers(document.as_table_mut(), container)? {
        None => true,
        Some(Item::Table(servers)) if !container.is_list => match servers.get_mut(name) {
            None => true,
            Some(Item::Table(table)) if !table.is_dotted() => {
                write_members(table, entry);
                false
            }
            Some(item) => {
                *item = Item::Value(to_inline_table(entry).into());
                false
            }
        },
        Some(Item::Value(toml_edit::Value::InlineTable(servers))) if !container.is_list => {
            insert_inline(servers, name, entry);
            false
        }
        Some(Item::ArrayOfTables(tables)) if container.is_list => {
            let index = tables.iter().position(|table| is_named(table, name));
            match index.and_then(|index| tables.get_mut(index)) {
                Some(table) => {
                    write_members(table, entry);
                    false
                }
                None => true,
            }
        }
        Some(Item::None | Item::Value(_) | Item::Table(_) | Item::ArrayOfTables(_)) => {
            return Err(wrong_type());
        }
    };
    Ok(if is_new {
        append_section(text, container, name, entry)
    } else {
        document.to_string()
    })
}

/// Returns the value with the servers, or `None` if the file has no servers.
fn find_servers<'a>(
    root: &'a mut Table,
    container: &Container,
) -> Result<Option<&'a mut Item>, EditError> {
    let (last, parents) = container
        .path
        .split_last()
        .expect("a path has at least one key");
    let mut parent: &mut dyn TableLike = root;
    for key in parents {
        let Some(item) = parent.get_mut(key) else {
            return Ok(None);
        };
        parent = item
            .as_table_like_mut()
            .ok_or_else(|| EditError::WrongType(key.clone()))?;
    }
    Ok(parent.get_mut(last))
}

/// Returns the text with a section for the entry at its end, after the last comment.
fn append_section(text: &str, container: &Container, name: &str, entry: &Entry) -> String {
    let mut section = Item::Table(to_table(entry));
    if container.is_list {
        let mut tables = ArrayOfTables::new();
        tables.push(to_table(entry));
        section = Item::ArrayOfTables(tables);
    }
    let entry_key = if container.is_list { None } else { Some(name) };
    let keys = container.path.iter().map(String::as_str).chain(entry_key);
    for key in keys.rev() {
        let mut parent = Table::new();
        parent.set_implicit(true);
        parent.insert(key, section);
        section = Item::Table(parent);
    }
    let mut document = DocumentMut::new();
    *document.as_item_mut() = section;
    let separator = match text {
        "" => "",
        _ if text.ends_with("\n\n") => "",
        _ if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{separator}{document}")
}

/// Replaces the members of a table, and keeps its place and the comments above it.
fn write_members(table: &mut Table, entry: &Entry) {
    let stale: Vec<String> = table
        .iter()
        .map(|(name, _)| name.to_owned())
        .filter(|name| !entry.0.iter().any(|(member, _)| member == name))
        .collect();
    for name in stale {
        table.remove(&name);
    }
    for (name, value) in &entry.0 {
        let is_same = table
            .get(name)
            .is_some_and(|found| item_to_value(found) == *value);
        if !is_same {
            table[name] = Item::Value(to_toml(value));
        }
    }
}

fn to_table(entry: &Entry) -> Table {
    let mut table = Table::new();
    for (name, value) in &entry.0 {
        table.insert(name, Item::Value(to_toml(value)));
    }
    table
}

fn to_toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Null => "".into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::String(text) => text.into(),
        Value::Array(values) => values.iter().map(to_toml).collect::<Array>().into(),
        Value::Object(members) => toml_edit::Value::InlineTable(
            members
                .iter()
                .map(|(name, value)| (name.as_str(), to_toml(value)))
                .collect(),
        ),
    }
}

fn to_inline_table(entry: &Entry) -> InlineTable {
    entry
        .0
        .iter()
        .map(|(name, value)| (name.as_str(), to_toml(value)))
        .collect()
}

fn insert_inline(servers: &mut InlineTable, name: &str, entry: &Entry) {
    if let Some((_, last)) = servers.iter_mut().last() {
        last.decor_mut().set_suffix("");
    }
    let mut value = toml_edit::Value::from(to_inline_table(entry));
    value.decor_mut().set_suffix(" ");
    servers.insert(name, value);
}

fn remove_entry(text: &str, container: &Container, name: &str) -> Result<String, EditError> {
    let document = Document::parse(text).map_err(|error| syntax_error(text, &error))?;
    let servers = container
        .path
        .iter()
        .try_fold(document.as_item(), |item, key| item.get(key));
    let entry = match servers {
        Some(Item::ArrayOfTables(tables)) => tables.iter().find(|table| is_named(table, name)),
        Some(Item::Table(servers)) => servers.get(name).and_then(Item::as_table),
        _ => None,
    };
    if let Some(table) = entry.filter(|table| !table.is_dotted()) {
        let mut sections = Vec::new();
        collect_sections(table, &mut sections);
        return Ok(remove_sections(text, sections));
    }
    let mut document = document.into_mut();
    if let Some(servers) = find_servers(document.as_table_mut(), container)?
        && let Some(servers) = servers.as_table_like_mut()
    {
        servers.remove(name);
    }
    Ok(document.to_string())
}

/// Adds the ranges of a table and of the tables below it, each from its header to its last value.
fn collect_sections(table: &Table, sections: &mut Vec<Range<usize>>) {
    let header = table
        .span()
        .filter(|_| !table.is_implicit() && !table.is_dotted());
    if let Some(header) = header {
        sections.push(header.start..header.end.max(end_of_values(table)));
    }
    for (_, item) in table {
        match item {
            Item::Table(child) => collect_sections(child, sections),
            Item::ArrayOfTables(children) => {
                for child in children {
                    collect_sections(child, sections);
                }
            }
            Item::None | Item::Value(_) => {}
        }
    }
}

fn end_of_values(table: &Table) -> usize {
    let ends = table.iter().map(|(_, item)| match item {
        Item::Value(value) => value.span().map_or(0, |span| span.end),
        Item::Table(child) if child.is_dotted() => end_of_values(child),
        Item::None | Item::Table(_) | Item::ArrayOfTables(_) => 0,
    });
    ends.max().unwrap_or(0)
}

/// Removes the lines of the sections, and the blank line before each section. Keeps the comments
/// after a section, because Drawbridge did not write them.
fn remove_sections(text: &str, mut sections: Vec<Range<usize>>) -> String {
    sections.sort_by_key(|section| section.start);
    let mut text = text.to_owned();
    for section in sections.iter().rev() {
        let start = text[..section.start]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let end = text[section.end..]
            .find('\n')
            .map_or(text.len(), |newline| section.end + newline + 1);
        let start = if text[..start].ends_with("\n\n") {
            start - 1
        } else {
            start
        };
        text.replace_range(start..end, "");
    }
    text
}

fn is_named(table: &Table, name: &str) -> bool {
    table.get("name").and_then(Item::as_str) == Some(name)
}
