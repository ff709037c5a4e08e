//! YAML. No parser preserves the layout of a file, so an edit adds, replaces or removes whole
//! lines: the lines of one entry of a block map or list. [`Format::edit`](super::Format::edit)
//! compares the result with the intended result, and refuses the edit if they differ.

use saphyr::{LoadableYamlNode, MarkedYaml, Marker, ScanError, YamlData};
use serde_json::{Map, Value};

use super::{
    EditError, Scalar, SyntaxError, plain_text,
    yaml_text::{member_lines, scalar},
};
use crate::edit::{Container, Edit, Entry};

pub(super) fn parse(text: &str) -> Result<Value, SyntaxError> {
    let document = load_document(text)?;
    Ok(document.as_ref().map(to_json).unwrap_or_default())
}

/// Returns the only document of a text, or `None` if the text has no document.
fn load_document(text: &str) -> Result<Option<MarkedYaml<'_>>, SyntaxError> {
    let mut documents = MarkedYaml::load_from_str(text).map_err(|error| syntax_error(&error))?;
    if documents.len() > 1 {
        return Err(SyntaxError {
            line: documents[1].span.start.line(),
            column: 1,
            message: "the file has more than one document".to_owned(),
        });
    }
    Ok(documents.pop())
}

fn syntax_error(error: &ScanError) -> SyntaxError {
    SyntaxError {
        line: error.marker().line(),
        column: error.marker().col() + 1,
        message: error.info().to_owned(),
    }
}

fn to_json(node: &MarkedYaml<'_>) -> Value {
    match &node.data {
        YamlData::Value(value) => scalar_to_json(value),
        YamlData::Sequence(items) => Value::Array(items.iter().map(to_json).collect()),
        YamlData::Mapping(members) => Value::Object(
            members
                .iter()
                .map(|(key, value)| (key_text(key), to_json(value)))
                .collect::<Map<String, Value>>(),
        ),
        YamlData::Tagged(_, inner) => to_json(inner),
        YamlData::Representation(text, ..) => text.as_ref().into(),
        YamlData::Alias(_) | YamlData::BadValue => Value::Null,
    }
}

fn scalar_to_json(value: &saphyr::Scalar<'_>) -> Value {
    match value {
        saphyr::Scalar::Null => Value::Null,
        saphyr::Scalar::Boolean(flag) => (*flag).into(),
        saphyr::Scalar::Integer(number) => (*number).into(),
        saphyr::Scalar::FloatingPoint(number) => number.into_inner().into(),
        saphyr::Scalar::String(text) => text.as_ref().into(),
    }
}

fn key_text(key: &MarkedYaml<'_>) -> String {
    plain_text(&to_json(key))
}

pub(super) fn scalars(text: &str) -> Result<Vec<Scalar>, SyntaxError> {
    let offsets: Vec<usize> = text.char_indices().map(|(offset, _)| offset).collect();
    let offset = |marker: Marker| offsets.get(marker.index()).copied().unwrap_or(text.len());
    let mut found = Vec::new();
    if let Some(document) = load_document(text)? {
        collect_scalars(&document, &offset, &mut Vec::new(), &mut found);
    }
    found.sort_by_key(|scalar| scalar.range.start);
    Ok(found)
}

fn collect_scalars(
    node: &MarkedYaml<'_>,
    offset: &impl Fn(Marker) -> usize,
    path: &mut Vec<String>,
    found: &mut Vec<Scalar>,
) {
    match &node.data {
        YamlData::Mapping(members) => {
            for (key, value) in members {
                path.push(key_text(key));
                collect_scalars(value, offset, path, found);
                path.pop();
            }
        }
        YamlData::Sequence(items) => {
            for item in items {
                path.push(String::new());
                collect_scalars(item, offset, path, found);
                path.pop();
            }
        }
        YamlData::Tagged(_, inner) => collect_scalars(inner, offset, path, found),
        YamlData::Value(saphyr::Scalar::Null | saphyr::Scalar::Boolean(_))
        | YamlData::Alias(_)
        | YamlData::BadValue => {}
        YamlData::Value(_) | YamlData::Representation(..) => found.push(Scalar {
            path: path.clone(),
            value: plain_text(&to_json(node)),
            range: offset(node.span.start)..offset(node.span.end),
        }),
    }
}

pub(super) fn edit(text: &str, edit: &Edit) -> Result<String, EditError> {
    let (container, name, entry) = match edit {
        Edit::SetEntry {
            container,
            name,
            entry,
        } => (container, name, Some(entry)),
        Edit::RemoveEntry { container, name } => (container, name, None),
        Edit::AddText { list, .. } | Edit::RemoveText { list, .. } => {
            return Err(EditError::UnsafeLayout(list.join(".")));
        }
    };
    let [key] = container.path.as_slice() else {
        return Err(EditError::UnsafeLayout(container.path.join(".")));
    };
    if text.contains('\r') {
        // YAML ends a line at a single `\r`, but `str::lines` does not.
        return Err(EditError::UnsafeLayout(key.clone()));
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let document = load_document(text)?;
    match find_servers(document.as_ref(), key)? {
        None => {
            if let Some(entry) = entry {
                let end = document
                    .as_ref()
                    .map_or(lines.len(), |node| last_line(&lines, node).min(lines.len()));
                let new_lines = std::iter::once(format!("{}:", scalar(key)))
                    .chain(entry_lines(container, name, entry, 2));
                lines.splice(end..end, new_lines);
            }
        }
        Some(servers) => {
            edit_servers(&mut lines, &servers, container, name, entry)?;
        }
    }
    let mut edited = lines.join("\n");
    if text.ends_with('\n') || text.trim().is_empty() {
        edited.push('\n');
    }
    Ok(edited)
}

/// The servers of a file: the key that leads to them, and its value.
struct Servers<'a> {
    key: &'a MarkedYaml<'a>,
    value: &'a MarkedYaml<'a>,
}

fn find_servers<'a>(
    document: Option<&'a MarkedYaml<'a>>,
    key: &str,
) -> Result<Option<Servers<'a>>, EditError> {
    match document.map(|node| &node.data) {
        None | Some(YamlData::Value(saphyr::Scalar::Null)) => Ok(None),
        Some(YamlData::Mapping(members)) => Ok(members
            .iter()
            .find(|(other, _)| key_text(other) == key)
            .map(|(key, value)| Servers { key, value })),
        Some(_) => Err(EditError::WrongType("the file".to_owned())),
    }
}

/// The lines of an entry, counted from 0, and the column at which it begins.
struct Place {
    first: usize,
    /// The line after the last line of the entry.
    end: usize,
    column: usize,
}

fn edit_servers(
    lines: &mut Vec<String>,
    servers: &Servers<'_>,
    container: &Container,
    name: &str,
    entry: Option<&Entry>,
) -> Result<(), EditError> {
    let key_line = servers.key.span.start.line() - 1;
    let unsafe_layout = || EditError::UnsafeLayout(container.path.join("."));
    let places = list_entries(lines, servers, container)?;
    // In an unusual file, the parser may count lines differently from `str::lines`.
    let is_in_text = |place: &Place| place.first < place.end && place.end <= lines.len();
    if key_line >= lines.len() || !places.iter().all(|(_, place)| is_in_text(place)) {
        return Err(unsafe_layout());
    }
    let Some((_, last)) = places.last() else {
        if let Some(entry) = entry {
            let indent = servers.key.span.start.col() + 2;
            lines[key_line] = without_value(&lines[key_line]).ok_or_else(unsafe_layout)?;
            let new_lines = entry_lines(container, name, entry, indent);
            lines.splice(key_line + 1..=key_line, new_lines);
        }
        return Ok(());
    };
    let existing = places.iter().find(|(other, _)| other == name);
    match (existing, entry) {
        (None, Some(entry)) => {
            let new_lines = entry_lines(container, name, entry, last.column);
            lines.splice(last.end..last.end, new_lines);
        }
        (Some((_, place)), Some(entry)) => {
            let new_lines = entry_lines(container, name, entry, place.column);
            lines.splice(place.first..place.end, new_lines);
        }
        (Some((_, place)), None) => {
            lines.drain(place.first..place.end);
            if places.len() == 1 {
                let empty = if container.is_list { " []" } else { " {}" };
                let end = lines[key_line].find(':').ok_or_else(unsafe_layout)? + 1;
                lines[key_line].insert_str(end, empty);
            }
        }
        (None, None) => {}
    }
    Ok(())
}

/// Returns the entries of a block map or list, which may be empty.
fn list_entries(
    lines: &[String],
    servers: &Servers<'_>,
    container: &Container,
) -> Result<Vec<(String, Place)>, EditError> {
    let key = || container.path.join(".");
    let line_of = |node: &MarkedYaml<'_>| node.span.start.line() - 1;
    match &servers.value.data {
        YamlData::Value(saphyr::Scalar::Null) => Ok(Vec::new()),
        YamlData::Mapping(members) if members.is_empty() && !container.is_list => Ok(Vec::new()),
        YamlData::Sequence(items) if items.is_empty() && container.is_list => Ok(Vec::new()),
        YamlData::Mapping(members) if !container.is_list => {
            let places = members.iter().map(|(name, value)| {
                let first = line_of(name);
                let column = name.span.start.col();
                let place = Place {
                    first,
                    end: last_line(lines, value).max(name.span.end.line()),
                    column,
                };
                let line = lines
                    .get(first)
                    .ok_or_else(|| EditError::UnsafeLayout(key()))?;
                is_blank_before(line, column, "")
                    .then(|| (key_text(name), place))
                    .ok_or_else(|| EditError::UnsafeLayout(key()))
            });
            places.collect()
        }
        YamlData::Sequence(items) if container.is_list => {
            let places = items.iter().map(|item| {
                let first = line_of(item);
                let start = item.span.start.col();
                let name = to_json(item);
                let name = crate::edit::name_of(&name).unwrap_or_default().to_owned();
                let line = lines
                    .get(first)
                    .ok_or_else(|| EditError::UnsafeLayout(key()))?;
                let before: String = line.chars().take(start).collect();
                let column = before.find('-').filter(|column| {
                    is_blank_before(&before, *column, "") && is_blank_before(&before, start, "-")
                });
                let place = column.map(|column| Place {
                    first,
                    end: last_line(lines, item),
                    column,
                });
                place
                    .map(|place| (name, place))
                    .ok_or_else(|| EditError::UnsafeLayout(key()))
            });
            places.collect()
        }
        YamlData::Representation(..)
        | YamlData::Value(_)
        | YamlData::Sequence(_)
        | YamlData::Mapping(_)
        | YamlData::Tagged(..)
        | YamlData::Alias(_)
        | YamlData::BadValue => Err(EditError::WrongType(key())),
    }
}

/// Returns whether a line has only white space before a column, apart from `sign` (`-` or nothing).
/// An entry in braces or brackets has other text there.
fn is_blank_before(line: &str, column: usize, sign: &str) -> bool {
    let before: String = line.chars().take(column).collect();
    before.trim() == sign
}

/// Returns the line of a key without the key's empty value, such as `{}`, `[]` or `null`. Returns
/// `None` if the line has another value.
fn without_value(line: &str) -> Option<String> {
    let colon = line.find(':')?;
    let (key, rest) = line.split_at(colon + 1);
    let value = rest.trim_start();
    let comment = ["{}", "[]", "null", "~", ""]
        .iter()
        .filter_map(|empty| value.strip_prefix(empty))
        .find(|comment| comment.trim().is_empty() || comment.trim_start().starts_with('#'))?;
    let comment = comment.trim();
    Some(if comment.is_empty() {
        key.to_owned()
    } else {
        format!("{key} {comment}")
    })
}

fn entry_lines(container: &Container, name: &str, entry: &Entry, indent: usize) -> Vec<String> {
    let margin = " ".repeat(indent);
    let mut lines = member_lines(entry, indent + 2);
    if container.is_list {
        if let Some(first) = lines.first_mut() {
            *first = format!("{margin}- {}", first.trim_start());
        }
    } else {
        lines.insert(0, format!("{margin}{}:", scalar(name)));
    }
    lines
}

/// Returns the number of the last line of a node, counted from 1. For a block, this is the last
/// line of its members, because the parser extends a block over comments and blank lines to the
/// next node.
fn last_line(lines: &[String], node: &MarkedYaml<'_>) -> usize {
    let (start, end) = (node.span.start, node.span.end);
    let is_block = || {
        let first = lines
            .get(start.line() - 1)
            .and_then(|line| line.chars().nth(start.col()));
        !matches!(first, Some('{' | '['))
    };
    match &node.data {
        YamlData::Mapping(members) if is_block() => members
            .iter()
            .map(|(key, value)| last_line(lines, value).max(key.span.end.line()))
            .max()
            .unwrap_or(start.line()),
        YamlData::Sequence(items) if is_block() => items
            .iter()
            .map(|item| last_line(lines, item))
            .max()
            .unwrap_or(start.line()),
        YamlData::Tagged(_, inner) => last_line(lines, inner),
        YamlData::Value(saphyr::Scalar::Null) => start.line(),
        YamlData::Representation(..)
        | YamlData::Value(_)
        | YamlData::Sequence(_)
        | YamlData::Mapping(_)
        | YamlData::Alias(_)
        | YamlData::BadValue => {
            if end.col() == 0 && end.line() > start.line() {
                end.line() - 1
            } else {
                end.line()
            }
        }
    }
}
