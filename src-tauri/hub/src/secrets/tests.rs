use super::*;

#[tokio::test]
async fn references_are_replaced_and_a_missing_one_is_named() {
    let secrets = Secrets::new(InMemory::default());
    secrets
        .set("s.KEY", Secret::new("value".into()))
        .await
        .expect("set");
    let mut env = BTreeMap::from([("A".to_owned(), format!("Bearer {}", reference("s.KEY")))]);
    let (resolved, used) = secrets.resolve(&env).await.expect("resolved");
    assert_eq!((resolved["A"].as_str(), used.len()), ("Bearer value", 1));
    env.insert("B".into(), reference("s.OTHER"));
    assert_eq!(
        secrets.resolve(&env).await.err(),
        Some(SecretError::Missing("s.OTHER".into()))
    );
}

/// A keyring whose prompt nobody answers.
struct Silent(Mutex<mpsc::Receiver<()>>);

impl SecretStore for Silent {
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
async fn a_keyring_that_does_not_answer_is_not_said_to_be_locked_and_holds_nobody_up() {
    let (wake, asleep) = mpsc::channel();
    let secrets = Secrets::new(Silent(Mutex::new(asleep)));
    assert_eq!(secrets.get("a").await.err(), Some(SecretError::Silent));
    let asked = Instant::now();
    assert_eq!(
        secrets.set("b", Secret::new("c".into())).await,
        Err(SecretError::Silent)
    );
    assert!(
        asked.elapsed() < Duration::from_millis(1),
        "the second question waited"
    );
    drop(wake);
    // The thread answers as soon as it can.
    while secrets.get("a").await.err() == Some(SecretError::Silent) {
        std::thread::yield_now();
    }
    assert_eq!(
        secrets.set("b", Secret::new("c".into())).await,
        Ok(()),
        "what was stuck is forgotten"
    );
}
