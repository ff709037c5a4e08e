//! Values that exceed the limit of some keyrings (Windows: 2,560 bytes in UTF-16), stored in parts.
//! The first part has the value's own name and begins with the number of parts.

use super::{Secret, SecretError, SecretStore, Secrets};

/// The most characters of a part. 600 characters fit even if each takes two UTF-16 units.
const MAX_PART_CHARS: usize = 600;
const MAX_PARTS: usize = 100;

impl Secrets {
    /// Returns a value that [`Secrets::set_long`] stored, or `None` if one of its parts is missing.
    ///
    /// # Errors
    /// Returns an error if the store cannot be used.
    pub async fn get_long(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        let name = name.to_owned();
        self.read(move |store| read_parts(store, &name)).await
    }

    /// Stores a value of at most 60,000 characters.
    ///
    /// # Errors
    /// Returns an error if the value is longer, or if the store cannot be used.
    pub async fn set_long(&self, name: &str, value: Secret) -> Result<(), SecretError> {
        let name = name.to_owned();
        self.write(move |store| write_parts(store, &name, &value))
            .await
    }

    /// Removes a value with all its parts.
    ///
    /// # Errors
    /// Returns an error if the store cannot be used.
    pub async fn remove_long(&self, name: &str) -> Result<(), SecretError> {
        let name = name.to_owned();
        self.write(move |store| remove_parts(store, &name)).await
    }
}

fn read_parts(store: &dyn SecretStore, name: &str) -> Result<Option<Secret>, SecretError> {
    let Some(first) = store.get(name)? else {
        return Ok(None);
    };
    let Some((count, text)) = parse_first_part(&first) else {
        return Ok(None);
    };
    let mut whole = text.to_owned();
    for index in 1..count {
        let Some(part) = store.get(&part_name(name, index))? else {
            return Ok(None);
        };
        whole.push_str(part.expose());
    }
    Ok(Some(Secret::new(whole)))
}

/// Writes the first part last, because it states the number of parts.
fn write_parts(store: &dyn SecretStore, name: &str, value: &Secret) -> Result<(), SecretError> {
    let previous_count = store
        .get(name)?
        .as_ref()
        .and_then(parse_first_part)
        .map_or(0, |(count, _)| count);
    let characters: Vec<char> = value.expose().chars().collect();
    let parts: Vec<String> = characters
        .chunks(MAX_PART_CHARS)
        .map(|part| part.iter().collect())
        .collect();
    let count = parts.len().max(1);
    if count > MAX_PARTS {
        return Err(SecretError::TooLong {
            max: MAX_PART_CHARS * MAX_PARTS,
        });
    }
    if previous_count > 1 {
        // If writing fails below, parts of two values must not be read as one value.
        store.remove(name)?;
    }
    for (index, text) in parts.iter().enumerate().skip(1) {
        store.set(&part_name(name, index), &Secret::new(text.clone()))?;
    }
    let first = parts.first().map_or("", String::as_str);
    store.set(name, &Secret::new(format!("{count} {first}")))?;
    (count..previous_count).try_for_each(|index| store.remove(&part_name(name, index)))
}

fn remove_parts(store: &dyn SecretStore, name: &str) -> Result<(), SecretError> {
    let count = store
        .get(name)?
        .as_ref()
        .and_then(parse_first_part)
        .map_or(0, |(count, _)| count);
    (1..count).try_for_each(|index| store.remove(&part_name(name, index)))?;
    store.remove(name)
}

/// Returns the number of parts, and the text of the first part. Returns `None` if `first` is not
/// the first part of a value.
pub(super) fn parse_first_part(first: &Secret) -> Option<(usize, &str)> {
    let (count, text) = first.expose().split_once(' ')?;
    Some((
        count.parse().ok().filter(|count| *count <= MAX_PARTS)?,
        text,
    ))
}

pub(super) fn part_name(name: &str, index: usize) -> String {
    format!("{name}#{index}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::InMemory;

    #[test]
    fn a_value_that_is_too_long_is_refused_and_the_old_value_stays() {
        let store = InMemory::default();
        let longest = "a".repeat(MAX_PART_CHARS * MAX_PARTS);
        write_parts(&store, "n", &Secret::new(longest.clone())).expect("set the longest value");
        let refused = write_parts(&store, "n", &Secret::new(format!("{longest}a")));
        assert!(matches!(refused, Err(SecretError::TooLong { max: 60_000 })));
        let value = read_parts(&store, "n").expect("get the value");
        assert_eq!(value.expect("the value exists").expose(), longest);
    }

    #[test]
    fn a_long_value_is_read_back_and_removed_completely() {
        let store = InMemory::default();
        for length in [3000, 10, 0, 1200] {
            let value: String = "a🏰".chars().cycle().take(length).collect();
            write_parts(&store, "n", &Secret::new(value.clone())).expect("set the value");
            assert_eq!(
                read_parts(&store, "n")
                    .expect("get the value")
                    .expect("the value exists")
                    .expose(),
                value
            );
        }
        assert!(
            store.get("n#1").expect("get the value").is_some()
                && store.get("n#2").expect("get the value").is_none()
        );
        remove_parts(&store, "n").expect("remove the value");
        assert!(
            ["n", "n#1"]
                .iter()
                .all(|name| store.get(name).expect("get the value").is_none())
        );
    }

    #[test]
    fn a_value_with_a_part_missing_is_none() {
        let store = InMemory::default();
        write_parts(&store, "n", &Secret::new("x".repeat(1300))).expect("set the value");
        store.remove("n#1").expect("remove the value");
        assert!(read_parts(&store, "n").expect("get the value").is_none());
    }
}
