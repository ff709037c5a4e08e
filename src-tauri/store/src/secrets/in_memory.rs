//! Secrets in memory, for tests.

use std::{collections::HashMap, sync::Mutex};

use super::{Secret, SecretError, SecretStore};

#[derive(Default)]
pub struct InMemory(Mutex<HashMap<String, String>>);

impl SecretStore for InMemory {
    fn get(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        Ok(self.values().get(name).cloned().map(Secret::new))
    }

    fn set(&self, name: &str, value: &Secret) -> Result<(), SecretError> {
        self.values()
            .insert(name.to_owned(), value.expose().to_owned());
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), SecretError> {
        self.values().remove(name);
        Ok(())
    }

    fn check(&self) -> Result<(), SecretError> {
        Ok(())
    }
}

impl InMemory {
    fn values(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
