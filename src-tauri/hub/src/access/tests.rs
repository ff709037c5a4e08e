use super::*;

async fn access(folder: &std::path::Path) -> Access {
    let (store, _) = Store::open(&folder.join("test.db")).await.expect("a store");
    Access::load(store, Events::new(), Some("the-admin-token"))
        .await
        .expect("load the clients")
}

#[tokio::test]
async fn a_token_identifies_its_client_until_revoked_even_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = ClientName::new("claude");
    let token = {
        let access = access(folder.path()).await;
        access.add(&name, None, None, None).await.expect("added")
    };
    let access = access(folder.path()).await;
    assert_eq!(access.find_client(&token), Some(name.clone()));
    access.revoke(&name).await.expect("revoked");
    assert_eq!(access.find_client(&token), None);
    assert!(matches!(
        access.admit_local(&name).await,
        Err(AccessError::Revoked(_))
    ));
}

#[tokio::test]
async fn client_tokens_and_the_admin_token_are_not_interchangeable() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = access(folder.path()).await;
    let token = access
        .add(&ClientName::new("c"), None, None, None)
        .await
        .expect("added");
    assert!(!access.is_admin(&token));
    assert!(access.is_admin("the-admin-token"));
    assert_eq!(access.find_client("the-admin-token"), None);
}

#[tokio::test]
async fn a_short_or_taken_token_and_a_taken_or_blank_name_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = access(folder.path()).await;
    let token = "t".repeat(32);
    assert!(matches!(
        access
            .add(&ClientName::new("a"), Some("short".into()), None, None)
            .await,
        Err(AccessError::ShortToken(5))
    ));
    access
        .add(&ClientName::new("a"), Some(token.clone()), None, None)
        .await
        .expect("added");
    assert!(matches!(
        access
            .add(&ClientName::new("b"), Some(token), None, None)
            .await,
        Err(AccessError::TokenTaken)
    ));
    assert!(matches!(
        access.add(&ClientName::new("a"), None, None, None).await,
        Err(AccessError::NameTaken(_))
    ));
    assert!(matches!(
        access.add(&ClientName::new(" "), None, None, None).await,
        Err(AccessError::BadName)
    ));
}

#[tokio::test]
async fn the_token_of_a_browser_belongs_to_no_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = access(folder.path()).await;
    let code = access.issue_browser_code();
    let address = WebUiAddress {
        host: "127.0.0.1:8765".to_owned(),
        origin: None,
    };
    let token = access.redeem_browser_code(&code, address.clone(), None);
    let token = token.expect("a token").token;
    assert!(access.use_browser_token(&token, &address).is_some());
    assert!(!access.is_admin(&token));
    assert_eq!(access.find_client(&token), None);
    assert!(matches!(
        access
            .add(&ClientName::new("c"), Some(token.clone()), None, None)
            .await,
        Err(AccessError::TokenTaken)
    ));
    assert_eq!(access.sign_out_browsers(None), 1);
    assert!(access.use_browser_token(&token, &address).is_none());
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn an_expired_token_is_refused_as_expired() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = access(folder.path()).await;
    let name = ClientName::new("c");
    let token = access.add(&name, None, None, Some(HOUR)).await;
    let token = token.expect("added");
    assert_eq!(access.authenticate(&token, None), Ok(name.clone()));
    let expired = access.rotate(&name, None, TokenLifetime::For(Duration::ZERO));
    let expired = expired.await.expect("rotated");
    assert_eq!(
        access.authenticate(&expired, None),
        Err(TokenRefusal::Expired(name))
    );
    assert_eq!(
        access.authenticate("nobody's", None),
        Err(TokenRefusal::Unknown)
    );
}

#[tokio::test]
async fn after_a_rotation_the_old_token_is_valid_until_the_new_token_is_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = ClientName::new("c");
    let (old, new) = {
        let access = access(folder.path()).await;
        let old = access.add(&name, None, None, Some(HOUR)).await;
        let old = old.expect("added");
        let new = access.rotate(&name, None, TokenLifetime::Same).await;
        let new = new.expect("rotated");
        assert_eq!(access.authenticate(&old, None), Ok(name.clone()));
        let [row] = &access.clients()[..] else {
            panic!("one client")
        };
        let expires_at = row.token_expires_at.expect("the new token expires too");
        let lifetime = expires_at.0 - row.token_issued_at.expect("issued").0;
        assert_eq!(lifetime, 3_600_000, "the new token has the same lifetime");
        (old, new)
    };
    let access = access(folder.path()).await;
    assert_eq!(access.authenticate(&old, None), Ok(name.clone()));
    assert_eq!(access.authenticate(&new, Some("curl/8")), Ok(name.clone()));
    assert_eq!(access.authenticate(&old, None), Err(TokenRefusal::Unknown));
    access.store_uses().await.expect("stored");
    let rows = access.store.clients().await.expect("read");
    assert_eq!(rows[0].user_agent.as_deref(), Some("curl/8"));
    assert!(rows[0].last_seen_at.is_some());
    assert_eq!(rows[0].old_token_hmac, None);
    access.revoke(&name).await.expect("revoked");
    assert_eq!(access.authenticate(&new, None), Err(TokenRefusal::Unknown));
}

#[tokio::test]
async fn a_connection_is_noted_without_the_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = access(folder.path()).await;
    let name = ClientName::new("c");
    let token = access.add(&name, None, None, None).await.expect("added");
    // A change that waits for a locked database holds this lock.
    let _waiting = access.write_lock.lock().await;
    for _ in 0..6 {
        assert_eq!(access.authenticate(&token, None), Ok(name.clone()));
        access.record_connection(&name, Some("app 1".to_owned()));
    }
    access.store.close().await;
    access.store_uses().await.expect_err("the store is closed");
    assert_eq!(
        access.unsaved().len(),
        1,
        "the use is kept for the next attempt"
    );
    assert_eq!(access.clients()[0].software.as_deref(), Some("app 1"));
}

#[tokio::test]
async fn a_token_that_was_rotated_out_stays_invalid_while_another_change_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = ClientName::new("c");
    let old = {
        let access = access(folder.path()).await;
        let old = access.add(&name, None, None, None).await.expect("added");
        let new = access.rotate(&name, None, TokenLifetime::Same).await;
        let new = new.expect("rotated");
        let [row] = &access.clients()[..] else {
            panic!("one client")
        };
        // The new token is used between reading and writing the row.
        assert_eq!(access.authenticate(&new, None), Ok(name.clone()));
        access.store_uses().await.expect("stored");
        access.put_client(row.clone()).await.expect("written");
        assert_eq!(access.authenticate(&old, None), Err(TokenRefusal::Unknown));
        access.store_uses().await.expect("stored");
        old
    };
    let access = access(folder.path()).await;
    assert_eq!(access.authenticate(&old, None), Err(TokenRefusal::Unknown));
}

#[tokio::test]
async fn a_long_user_agent_is_not_noted_with_each_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = access(folder.path()).await;
    let name = ClientName::new("c");
    let token = access.add(&name, None, None, None).await.expect("added");
    let user_agent = "a".repeat(1000);
    assert_eq!(
        access.authenticate(&token, Some(&user_agent)),
        Ok(name.clone())
    );
    access.store_uses().await.expect("stored");
    // The second request comes at once, however long the database took.
    access
        .lock()
        .get_mut(&name)
        .expect("the client")
        .last_seen_at = Some(clock::now());
    assert_eq!(access.authenticate(&token, Some(&user_agent)), Ok(name));
    assert!(access.unsaved().is_empty());
}

#[tokio::test]
async fn the_sign_out_of_a_browser_that_makes_room_is_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = access(folder.path()).await;
    let journal = access.store.journal();
    journal.recover().await.expect("recover the journal");
    let address = WebUiAddress {
        host: "127.0.0.1:8765".to_owned(),
        origin: None,
    };
    for _ in 0..65 {
        let code = access.issue_browser_code();
        let token = access.redeem_browser_code(&code, address.clone(), None);
        token.expect("a token");
    }
    journal.close().await;
    let count = rusqlite::Connection::open(folder.path().join("test.db"))
        .and_then(|connection| {
            connection.query_row(
                "SELECT count(*) FROM audit WHERE kind = 'browser_signed_out'",
                [],
                |row| row.get::<_, u32>(0),
            )
        })
        .expect("read the audit log");
    assert_eq!(count, 1);
}
