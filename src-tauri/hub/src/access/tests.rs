use super::*;

async fn access(folder: &std::path::Path) -> Access {
    let (store, _) = Store::open(&folder.join("test.db")).await.expect("a store");
    Access::load(store, Events::new(), Some("the-admin-token"))
        .await
        .expect("access")
}

#[tokio::test]
async fn a_client_is_known_by_its_token_until_it_is_revoked_also_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = ClientName::new("claude");
    let token = {
        let access = access(folder.path()).await;
        access.add(&name, None).await.expect("added")
    };
    let access = access(folder.path()).await;
    assert_eq!(access.client_of(&token), Some(name.clone()));
    access.revoke(&name).await.expect("revoked");
    assert_eq!(access.client_of(&token), None);
    assert!(matches!(
        access.admit_local(&name).await,
        Err(AccessError::Revoked(_))
    ));
}

#[tokio::test]
async fn a_clients_token_does_not_administer_and_the_admins_is_no_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = access(folder.path()).await;
    let token = access
        .add(&ClientName::new("c"), None)
        .await
        .expect("added");
    assert!(!access.is_admin(&token));
    assert!(access.is_admin("the-admin-token"));
    assert_eq!(access.client_of("the-admin-token"), None);
}

#[tokio::test]
async fn a_token_that_is_short_or_anothers_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = access(folder.path()).await;
    let token = "t".repeat(32);
    assert!(matches!(
        access
            .add(&ClientName::new("a"), Some("short".into()))
            .await,
        Err(AccessError::ShortToken(5))
    ));
    access
        .add(&ClientName::new("a"), Some(token.clone()))
        .await
        .expect("added");
    assert!(matches!(
        access.add(&ClientName::new("b"), Some(token)).await,
        Err(AccessError::TokenTaken)
    ));
    assert!(matches!(
        access.add(&ClientName::new("a"), None).await,
        Err(AccessError::Taken(_))
    ));
    assert!(matches!(
        access.add(&ClientName::new(" "), None).await,
        Err(AccessError::BadName)
    ));
}

#[tokio::test]
async fn a_code_opens_the_screens_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = access(folder.path()).await;
    let code = access.offer();
    let token = access.redeem(&code).expect("a token");
    assert!(access.is_admin(&token));
    assert_eq!(access.redeem(&code), None);
}
