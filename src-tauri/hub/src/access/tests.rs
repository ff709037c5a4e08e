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
        access.add(&name, None, None).await.expect("added")
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
        .add(&ClientName::new("c"), None, None)
        .await
        .expect("added");
    assert!(!access.is_admin(&token));
    assert!(access.is_admin("the-admin-token"));
    assert_eq!(access.find_client("the-admin-token"), None);
}

#[tokio::test]
async fn a_short_or_taken_token_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = access(folder.path()).await;
    let token = "t".repeat(32);
    assert!(matches!(
        access
            .add(&ClientName::new("a"), Some("short".into()), None)
            .await,
        Err(AccessError::ShortToken(5))
    ));
    access
        .add(&ClientName::new("a"), Some(token.clone()), None)
        .await
        .expect("added");
    assert!(matches!(
        access.add(&ClientName::new("b"), Some(token), None).await,
        Err(AccessError::TokenTaken)
    ));
    assert!(matches!(
        access.add(&ClientName::new("a"), None, None).await,
        Err(AccessError::NameTaken(_))
    ));
    assert!(matches!(
        access.add(&ClientName::new(" "), None, None).await,
        Err(AccessError::BadName)
    ));
}

#[tokio::test]
async fn a_browser_code_can_be_redeemed_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = access(folder.path()).await;
    let code = access.issue_browser_code();
    let token = access.redeem_browser_code(&code).expect("a token");
    assert!(access.is_admin(&token));
    assert_eq!(access.redeem_browser_code(&code), None);
}
