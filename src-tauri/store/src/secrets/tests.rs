use std::{collections::BTreeSet, pin::pin};

use futures_util::FutureExt;

use super::*;

#[tokio::test]
async fn references_are_replaced_and_a_missing_secret_is_named() {
    let secrets = Secrets::new(InMemory::default());
    secrets
        .set("s.KEY", Secret::new("value".into()))
        .await
        .expect("set the secret");
    let mut env = BTreeMap::from([(
        "A".to_owned(),
        format!("Bearer {}", format_reference("s.KEY")),
    )]);
    let scope = SecretScope::new(ServerId::new("s"), BTreeSet::new());
    let (resolved, used) = secrets.resolve(&env, &scope).await.expect("resolved");
    assert_eq!((resolved["A"].as_str(), used.len()), ("Bearer value", 1));
    env.insert("B".into(), format_reference("s.OTHER"));
    assert_eq!(
        secrets.resolve(&env, &scope).await.err(),
        Some(SecretError::Missing("s.OTHER".into()))
    );
}

#[tokio::test]
async fn a_secret_of_another_server_is_resolved_only_if_it_was_granted() {
    let secrets = Secrets::new(InMemory::default());
    for name in ["github.TOKEN", "s.KEY", "s2.KEY"] {
        let value = Secret::new(name.to_uppercase());
        secrets.set(name, value).await.expect("set the secret");
    }
    let server = ServerId::new("s");
    let granted = SecretScope::new(server.clone(), ["github.TOKEN".to_owned()].into());
    let own = SecretScope::new(server, BTreeSet::new());
    for (scope, name, is_allowed) in [
        (&own, "s.KEY", true),
        (&own, "github.TOKEN", false),
        (&own, "s2.KEY", false),
        (&granted, "github.TOKEN", true),
        (&granted, "s2.KEY", false),
    ] {
        let env = BTreeMap::from([("A".to_owned(), format_reference(name))]);
        let resolved = secrets.resolve(&env, scope).await;
        assert_eq!(resolved.is_ok(), is_allowed, "{name}");
    }
}

/// Prints the command itself, and counts the runs.
#[derive(Default)]
struct EchoCommands(std::sync::atomic::AtomicU32);

impl SecretCommands for EchoCommands {
    fn run<'a>(
        &'a self,
        command: &'a str,
    ) -> futures_util::future::BoxFuture<'a, Result<Secret, SecretError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(Secret::new(command.to_owned())) })
    }
}

#[tokio::test]
async fn variables_and_commands_are_resolved_and_references_inside_a_secret_are_not_resolved() {
    let commands = Arc::new(EchoCommands::default());
    let secrets = Secrets::new(InMemory::default()).with_commands(commands.clone());
    let secrets = secrets.with_command_cache();
    let value = Secret::new("${keyring:s.OTHER}".into());
    secrets.set("s.KEY", value).await.expect("set");
    let scope = SecretScope::new(ServerId::new("s"), BTreeSet::new());
    let args = [
        "${keyring:s.KEY}".to_owned(),
        "a ${command:op read x} ${env:PATH}".to_owned(),
        "${command:op read x}".to_owned(),
    ];
    let (resolved, used) = secrets
        .resolve_arguments(&args, &scope)
        .await
        .expect("resolved");
    let path = std::env::var("PATH").expect("a PATH");
    assert_eq!(
        resolved,
        [
            "${keyring:s.OTHER}".to_owned(),
            format!("a op read x {path}"),
            "op read x".to_owned()
        ]
    );
    assert_eq!(
        used.len(),
        4,
        "each secret is returned, so that the logs can mask it"
    );
    assert_eq!(commands.0.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_missing_variable_is_an_error_and_drawbridges_own_variables_are_never_given_away() {
    let secrets = Secrets::new(InMemory::default());
    let scope = SecretScope::new(ServerId::new("s"), BTreeSet::new());
    for (name, expected) in [
        (
            "DRAWBRIDGE_ADMIN_TOKEN",
            SecretError::ReservedVariable("DRAWBRIDGE_ADMIN_TOKEN".into()),
        ),
        ("NOT=SET", SecretError::MissingVariable("NOT=SET".into())),
        ("", SecretError::MissingVariable(String::new())),
    ] {
        let args = [format!("${{env:{name}}}")];
        let refused = secrets.resolve_arguments(&args, &scope).await.err();
        assert_eq!(refused, Some(expected));
    }
}

#[tokio::test]
async fn the_encoded_form_of_a_secret_in_a_url_counts_as_a_secret_too() {
    let secrets = Secrets::new(InMemory::default());
    let value = Secret::new("key=a/b".to_owned());
    secrets.set("s.KEY", value).await.expect("set the secret");
    let scope = SecretScope::new(ServerId::new("s"), BTreeSet::new());
    let url = format!("https://h/?k={}", format_reference("s.KEY"));
    let (url, used) = secrets.resolve_url(&url, &scope).await.expect("resolved");
    assert_eq!(url, "https://h/?k=key=a%2Fb");
    let used: Vec<_> = used.iter().map(Secret::expose).collect();
    assert_eq!(used, ["key=a%2Fb", "key=a/b"]);
}

/// A keyring whose prompt nobody answers.
struct UnresponsiveStore {
    /// Receives a message when the prompt opens.
    opened: mpsc::Sender<()>,
    /// Closed when the prompt closes.
    closed: Mutex<mpsc::Receiver<()>>,
}

impl SecretStore for UnresponsiveStore {
    fn get(&self, _: &str) -> Result<Option<Secret>, SecretError> {
        let _ = self.opened.send(());
        let _ = self.closed.lock().expect("lock").recv();
        Ok(None)
    }

    fn set(&self, _: &str, _: &Secret) -> Result<(), SecretError> {
        Ok(())
    }

    fn remove(&self, _: &str) -> Result<(), SecretError> {
        Ok(())
    }

    fn check(&self) -> Result<(), SecretError> {
        Ok(())
    }
}

/// A store with a defect.
struct PanickingStore;

impl SecretStore for PanickingStore {
    fn get(&self, _: &str) -> Result<Option<Secret>, SecretError> {
        panic!("a defect of the store")
    }

    fn set(&self, _: &str, _: &Secret) -> Result<(), SecretError> {
        Ok(())
    }

    fn remove(&self, _: &str) -> Result<(), SecretError> {
        Ok(())
    }

    fn check(&self) -> Result<(), SecretError> {
        Ok(())
    }
}

#[tokio::test]
async fn a_defect_of_the_store_is_not_blamed_on_the_keyring() {
    let secrets = Secrets::new(PanickingStore);
    let error = secrets.get("a").await.err().expect("there is no value");
    for text in [error.to_string(), error.remedy()] {
        assert!(!text.contains("keyring"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unresponsive_keyring_is_not_reported_as_locked_and_blocks_nobody() {
    let (opened, is_open) = mpsc::channel();
    let (release, closed) = mpsc::channel();
    let closed = Mutex::new(closed);
    let secrets = Secrets::new(UnresponsiveStore { opened, closed });
    {
        let mut waiting = pin!(secrets.get("a"));
        assert!(waiting.as_mut().now_or_never().is_none());
        // The paused clock must not advance before the thread of the store has the request.
        is_open.recv().expect("the keyring is asked");
        assert_eq!(waiting.await.err(), Some(SecretError::NoAnswer));
    }
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
    drop(release);
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

#[tokio::test]
async fn the_thread_of_a_store_ends_without_requests_and_the_next_request_starts_another() {
    let (sender, requests) = mpsc::channel::<StoreRequest>();
    let queue = Arc::new(Mutex::new(Some(sender)));
    assert!(next_request(&requests, &queue, Duration::ZERO).is_none());
    assert!(queue.lock().expect("the lock").is_none());

    let thread = StoreThread {
        store: Arc::new(InMemory::default()),
        queue,
    };
    let answer = thread.send(|store| store.kind()).expect("a thread");
    assert_eq!(answer.await, Ok(SecretStoreKind::Keyring));
}

#[tokio::test]
async fn a_thread_of_a_store_that_panicked_is_replaced() {
    let thread = StoreThread::new(Arc::new(InMemory::default()));
    let broken = thread
        .send(|_| panic!("the store panics"))
        .expect("a thread");
    let result: Result<(), _> = broken.await;
    assert!(result.is_err());
    wait_for_answer(&thread).await;
}

/// Sends requests until one is answered: a request may reach the queue of the thread that panics.
async fn wait_for_answer(thread: &StoreThread) {
    loop {
        let answer = thread.send(|store| store.kind()).expect("a thread");
        if answer.await.is_ok() {
            return;
        }
    }
}
