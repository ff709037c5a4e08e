//! JSON with comments and trailing commas.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{self, ObjectPropName},
    common::Ranged,
    cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode},
    errors::{ParseError, ParseErrorKind},
};
use serde_json::Value;

use super::{EditError, Scalar, SyntaxError};
use crate::edit::{Container, Edit, Entry, name_of};

/// Clients accept comments and trailing commas, but nothing else beyond JSON.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(text: &str) -> Result<Value, SyntaxError> {
    let parsed: Option<Value> = jsonc_parser::parse_to_serde_value(text, &OPTIONS)
        .map_err(|error| syntax_error(text, &locate(text, error)))?;
    Ok(parsed.unwrap_or_default())
}

/// Moves an error to the fault. An error of serde (for example, if the text ends before a value)
/// has the position of the object or array around the fault. Parsing the text as a syntax tree
/// reports a syntax error at the fault itself.
fn locate(text: &str, error: ParseError) -> ParseError {
    if !matches!(error.kind(), ParseErrorKind::Custom(_)) {
        return error;
    }
    let tree = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &OPTIONS);
    tree.err().unwrap_or(error)
}

fn syntax_error(text: &str, error: &ParseError) -> SyntaxError {
    let (line, column) = super::position(text, error.range().start);
    SyntaxError {
        line,
        column,
        message: error.kind().to_string(),
    }
}

pub(super) fn scalars(text: &str) -> Result<Vec<Scalar>, SyntaxError> {
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &OPTIONS)
        .map_err(|error| syntax_error(text, &error))?;
    let mut found = Vec::new();
    if let Some(value) = &parsed.value {
        collect_scalars(value, &mut Vec::new(), &mut found);
    }
    Ok(found)
}

fn collect_scalars(value: &ast::Value<'_>, path: &mut Vec<String>, found: &mut Vec<Scalar>) {
    match value {
        ast::Value::Object(object) => {
            for property in &object.properties {
                path.push(match &property.name {
                    ObjectPropName::String(name) => name.value.to_string(),
                    ObjectPropName::Word(name) => name.value.to_owned(),
                });
                collect_scalars(&property.value, path, found);
                path.pop();
            }
        }
        ast::Value::Array(array) => {
            for element in &array.elements {
                path.push(String::new());
                collect_scalars(element, path, found);
                path.pop();
            }
        }
        ast::Value::StringLit(literal) => found.push(Scalar {
            path: path.clone(),
            value: literal.value.to_string(),
            range: literal.start()..literal.end(),
        }),
        ast::Value::NumberLit(literal) => found.push(Scalar {
            path: path.clone(),
            value: literal.value.to_owned(),
            range: literal.start()..literal.end(),
        }),
        ast::Value::BooleanLit(_) | ast::Value::NullKeyword(_) => {}
    }
}

pub(super) fn edit(text: &str, edit: &Edit) -> Result<String, EditError> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = CstRootNode::parse(text, &OPTIONS).map_err(|error| syntax_error(text, &error))?;
    let object = root
        .object_value_or_create()
        .ok_or_else(|| EditError::WrongType("the file".to_owned()))?;
    match edit {
        Edit::SetEntry {
            container,
            name,
            entry,
        } => set_entry(&object, container, name, entry)?,
        Edit::RemoveEntry { container, name } => remove_entry(&object, container, name)?,
        Edit::AddText { list, text } => {
            let (parents, last) = split_path(list);
            let array = array_at(&descend(&object, parents)?, last)?;
            if !array
                .elements()
                .iter()
                .any(|element| is_text(element, text))
            {
                array.append(CstInputValue::String(text.clone()));
            }
        }
        Edit::RemoveText { list, text } => {
            let (parents, last) = split_path(list);
            let array = array_at(&descend(&object, parents)?, last)?;
            for element in array.elements() {
                if is_text(&element, text) {
                    element.remove();
                }
            }
        }
    }
    Ok(root.to_string())
}

fn set_entry(
    root: &CstObject,
    container: &Container,
    name: &str,
    entry: &Entry,
) -> Result<(), EditError> {
    let value = to_input(entry);
    if container.is_list {
        let (parents, last) = split_path(&container.path);
        let array = array_at(&descend(root, parents)?, last)?;
        match find_element(&array, name) {
            Some(element) => {
                let index = element.element_index().unwrap_or_default();
                element.remove();
                array.insert(index, value);
            }
            None => drop(array.append(value)),
        }
        return Ok(());
    }
    let object = descend(root, &container.path)?;
    match find_property(&object, name)? {
        Some(property) => property.set_value(value),
        None => drop(object.append(name, value)),
    }
    Ok(())
}

fn remove_entry(root: &CstObject, container: &Container, name: &str) -> Result<(), EditError> {
    if container.is_list {
        let (parents, last) = split_path(&container.path);
        let array = array_at(&descend(root, parents)?, last)?;
        if let Some(element) = find_element(&array, name) {
            element.remove();
        }
        return Ok(());
    }
    if let Some(property) = find_property(&descend(root, &container.path)?, name)? {
        property.remove();
    }
    Ok(())
}

/// Returns the object at a path, and creates the object if it is missing or `null`.
fn descend(root: &CstObject, path: &[String]) -> Result<CstObject, EditError> {
    let mut object = root.clone();
    for key in path {
        object = match find_property(&object, key)? {
            None => object.object_value_or_set(key),
            Some(property) if is_null(&property) => property.object_value_or_set(),
            Some(property) => property
                .object_value()
                .ok_or_else(|| EditError::WrongType(key.clone()))?,
        };
    }
    Ok(object)
}

/// Returns the array at a key, and creates the array if it is missing or `null`.
fn array_at(object: &CstObject, key: &str) -> Result<CstArray, EditError> {
    match find_property(object, key)? {
        None => Ok(object.array_value_or_set(key)),
        Some(property) if is_null(&property) => Ok(property.array_value_or_set()),
        Some(property) => property
            .array_value()
            .ok_or_else(|| EditError::WrongType(key.to_owned())),
    }
}

/// Returns the property with a name. Returns an error if two properties have the name, because
/// parsers disagree about which of the two counts.
fn find_property(object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, EditError> {
    let mut properties = object
        .properties()
        .into_iter()
        .filter(|property| property.decoded_name().as_deref() == Some(name));
    let first = properties.next();
    if properties.next().is_some() {
        return Err(EditError::Duplicate(name.to_owned()));
    }
    Ok(first)
}

fn find_element(array: &CstArray, name: &str) -> Option<CstNode> {
    array.elements().into_iter().find(|element| {
        let value = element.to_serde_value();
        value.as_ref().and_then(name_of) == Some(name)
    })
}

fn is_null(property: &CstObjectProp) -> bool {
    property
        .value()
        .is_some_and(|value| value.as_null_keyword().is_some())
}

/// Returns whether an element is the string `text`.
fn is_text(element: &CstNode, text: &str) -> bool {
    element
        .as_string_lit()
        .and_then(|literal| literal.decoded_value().ok())
        .is_some_and(|value| value == text)
}

fn split_path(path: &[String]) -> (&[String], &str) {
    let (last, parents) = path.split_last().expect("a path has at least one key");
    (parents, last)
}

fn to_input(entry: &Entry) -> CstInputValue {
    let members = entry.0.iter();
    CstInputValue::Object(
        members
            .map(|(name, value)| (name.clone(), value_to_input(value)))
            .collect(),
    )
}

fn value_to_input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(value_to_input).collect()),
        Value::Object(members) => CstInputValue::Object(
            members
                .iter()
                .map(|(name, value)| (name.clone(), value_to_input(value)))
                .collect(),
        ),
    }
}
