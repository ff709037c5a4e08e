use super::*;

#[tokio::test]
async fn references_are_replaced_and_a_missing_one_is_named() {
    let secrets = Secrets::new(InMemory::default());
    secrets
        .set("s.KEY", Secret::new("value".into()))
        .await
        .expect("set the secret");
    let mut env = BTreeMap::from([(
        "A".to_owned(),
        format!("Bearer {}", format_reference("s.KEY")),
    )]);
    let (resolved, used) = secrets.resolve(&env).await.expect("resolved");
    assert_eq!((resolved["A"].as_str(), used.len()), ("Bearer value", 1));
    env.insert("B".into(), format_reference("s.OTHER"));
    assert_eq!(
        secrets.resolve(&env).await.err(),
        Some(SecretError::Missing("s.OTHER".into()))
    );
}

/// A keyring whose prompt nobody answers.
struct UnresponsiveStore(Mutex<mpsc::Receiver<()>>);

impl SecretStore for UnresponsiveStore {
    fn get(&self, _: &str) -> Result<Option<Secret>, SecretError> {
        let _ = self.0.lock().expect("lock").recv();
        Ok(None)
    }

    fn set(&self, _: &str, _: &Secret) -> Result<(), SecretError> {
        Ok(())
    }

    fn remove(&self, _: &str) -> Result<(), SecretError> {
        Ok(())
    }

    fn status(&self) -> KeyringStatus {
        KeyringStatus::Ready
    }
}

#[tokio::test(start_paused = true)]
async fn an_unresponsive_keyring_is_not_reported_as_locked_and_blocks_nobody() {
    let (wake, asleep) = mpsc::channel();
    let secrets = Secrets::new(UnresponsiveStore(Mutex::new(asleep)));
    assert_eq!(secrets.get("a").await.err(), Some(SecretError::NoAnswer));
    let start = Instant::now();
    assert_eq!(
        secrets.set("b", Secret::new("c".into())).await,
        Err(SecretError::NoAnswer)
    );
    assert_eq!(
        start.elapsed(),
        Duration::ZERO,
        "the second request fails at once"
    );
    drop(wake);
    // The thread answers as soon as it can.
    while secrets.get("a").await.err() == Some(SecretError::NoAnswer) {
        std::thread::yield_now();
    }
    assert_eq!(
        secrets.set("b", Secret::new("c".into())).await,
        Ok(()),
        "the keyring can be used again"
    );
}
