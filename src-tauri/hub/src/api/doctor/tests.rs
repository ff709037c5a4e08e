use std::collections::BTreeMap;

use drawbridge_model::spec::ServerSpec;

use super::masking::{MASK, mask_spec, mask_url};

fn spec(json: &str) -> ServerSpec {
    serde_json::from_str(json).unwrap_or_else(|e| panic!("{json}: {e}"))
}

#[test]
fn references_to_secrets_stay_and_possible_secrets_are_masked() {
    let masked = mask_spec(&spec(
        r#"{"command":"npx","args":["-y","pkg@1","--api-key","k-123456","--token=t-123456","dir"],
            "env":{"MODE":"production","KEY":"${keyring:a.KEY}","EMPTY":""},
            "headers":{"Authorization":"Bearer ${keyring:a.token}","X":"Basic dXNlcg=="},
            "oauth":{"client_id":"id","client_secret":"oauth-secret"},
            "note":{"why":["unknown-member"]}}"#,
    ));
    let expected: BTreeMap<_, _> = [("MODE", MASK), ("KEY", "${keyring:a.KEY}"), ("EMPTY", "")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    assert_eq!(masked.spec.env, expected);
    assert_eq!(
        masked.spec.args,
        [
            "-y",
            "pkg@1",
            "--api-key",
            MASK,
            &format!("--token={MASK}"),
            "dir"
        ]
    );
    let text = serde_json::to_string(&masked.spec).expect("JSON");
    for secret in [
        "k-123456",
        "t-123456",
        "production",
        "dXNlcg==",
        "oauth-secret",
        "unknown-member",
    ] {
        assert!(!text.contains(secret), "{secret}: {text}");
        assert!(
            masked.secrets.iter().any(|found| found == secret),
            "{secret} is masked in the logs too: {:?}",
            masked.secrets
        );
    }
    assert!(text.contains("${keyring:a.token}"), "{text}");
}

#[test]
fn a_url_keeps_its_host_and_the_names_of_its_parameters() {
    for (url, shown) in [
        ("https://example.com/mcp", "https://example.com/mcp"),
        (
            "https://ada:pass@example.com:8443/mcp?key=abc&x=1",
            "https://•••@example.com:8443/mcp?key=•••&x=•••",
        ),
        (
            "https://example.com/s/0123456789abcdef0123/mcp",
            "https://example.com/s/•••/mcp",
        ),
        ("not a url", "•••"),
    ] {
        assert_eq!(mask_url(url), shown);
    }
}
