//! Properties of changes to configuration files that hold for any text.

use super::Format;
use crate::edit::{Container, Edit, Entry, prune};

const NAME: &str = "drawbridge";

/// Checks that an edit of a broken file is refused. In any other file, checks that adding an entry
/// and removing the entry again change nothing else, unless an edit is refused or the file has an
/// entry with this name already. `choice` selects the format, the keys that lead to the servers,
/// and whether the servers are a list.
pub(crate) fn an_entry_is_added_and_removed(choice: u8, text: &str) {
    let format = [Format::Jsonc, Format::Toml, Format::Yaml][usize::from(choice % 3)];
    let places: [&[&str]; 3] = [&["mcpServers"], &["mcp", "servers"], &["a", "b.c", "d e"]];
    let place = places[usize::from(choice / 3 % 3)];
    let container = Container {
        path: place.iter().map(|key| (*key).to_owned()).collect(),
        is_list: choice / 9 % 2 == 1,
    };
    let entry = if container.is_list {
        Entry::default().with("name", NAME)
    } else {
        Entry::default()
    };
    let entry = entry
        .with("command", "dräw \"bridge\"")
        .with("args", vec!["stdio", "a\\b"]);
    let set = Edit::SetEntry {
        container: container.clone(),
        name: NAME.into(),
        entry,
    };
    let remove = Edit::RemoveEntry {
        container: container.clone(),
        name: NAME.into(),
    };
    let Ok(before) = format.parse(text) else {
        assert!(
            format.edit(text, &[set]).is_err(),
            "a broken file is edited"
        );
        return;
    };
    let existed = (container.entries(&before).iter()).any(|(name, _)| name == NAME);
    let Ok(added) = format.edit(text, &[set]) else {
        return;
    };
    if !existed {
        assert_only_added(text, &added);
    }
    let Ok(removed) = format.edit(&added, &[remove]) else {
        return;
    };
    let mut after = format.parse(&removed).expect("an edited file can be read");
    let mut before = before;
    if !existed {
        prune(&mut before, &container.path);
        prune(&mut after, &container.path);
        assert_eq!(after, before, "{text:?} became {removed:?}");
    }
}

/// Checks that the changed text is the original text with an insertion, which may have replaced an
/// empty map or list. White space may differ, because a file on one line gets several lines.
fn assert_only_added(text: &str, added: &str) {
    let without_spaces = |text: &str| text.split_whitespace().collect::<String>();
    let (text, added) = (&without_spaces(text), &without_spaces(added));
    let common = |first: &mut dyn Iterator<Item = char>, second: &mut dyn Iterator<Item = char>| {
        first
            .zip(second)
            .take_while(|(first, second)| first == second)
            .count()
    };
    let characters: Vec<char> = text.chars().collect();
    let before = common(&mut text.chars(), &mut added.chars());
    let after = common(&mut text.chars().rev(), &mut added.chars().rev());
    let end = characters.len().saturating_sub(after).max(before);
    let replaced: String = characters[before..end].iter().collect();
    // The characters of `{}`, `[]`, `~` and `null`, and a comma before a closing bracket.
    let is_empty_value = replaced
        .chars()
        .all(|c| c.is_whitespace() || "{}[],~nul".contains(c));
    assert!(
        is_empty_value,
        "{replaced:?} of {text:?} is gone in {added:?}"
    );
}
