//! Reading tokens from headers, and the messages about tokens.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::{
    ASKED_TO_PAIR, EXPIRED_CLIENT_TOKEN, NO_ADMIN_TOKEN, NO_CLIENT_TOKEN, WRONG_ADMIN_TOKEN,
    WRONG_CLIENT_TOKEN, bearer_token,
};

fn headers(name: &'static str, values: &[&'static str]) -> HeaderMap {
    let name = HeaderName::from_static(name);
    values
        .iter()
        .map(|value| (name.clone(), HeaderValue::from_static(value)))
        .collect()
}

#[test]
fn a_token_is_read_from_exactly_one_bearer_header() {
    let token = |values: &[&'static str]| {
        bearer_token(&headers("authorization", values)).map(str::to_owned)
    };
    assert_eq!(token(&["Bearer abc"]).as_deref(), Some("abc"));
    assert_eq!(token(&["bearer  abc "]).as_deref(), Some("abc"));
    for none in [
        &["Basic abc"][..],
        &["Bearer"],
        &["Bearer "],
        &["abc"],
        &[""],
        &[],
        &["Bearer a", "Bearer b"],
    ] {
        assert_eq!(token(none), None, "{none:?}");
    }
}

#[test]
fn messages_about_tokens_need_no_escaping_in_a_header() {
    for text in [
        NO_CLIENT_TOKEN,
        WRONG_CLIENT_TOKEN,
        ASKED_TO_PAIR,
        EXPIRED_CLIENT_TOKEN,
        NO_ADMIN_TOKEN,
        WRONG_ADMIN_TOKEN,
    ] {
        assert!(
            text.chars()
                .all(|c| matches!(c, ' '..='~') && !"\"\\".contains(c)),
            "{text}"
        );
    }
}
