use super::*;

fn host(text: &str) -> AllowedHost {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn a_host_without_a_port_has_the_port_of_the_listener() {
    assert_eq!(host("Mcp-Hub").authorities(8765), ["mcp-hub:8765"]);
    assert_eq!(host("mcp_hub:9000").authorities(8765), ["mcp_hub:9000"]);
    assert_eq!(
        host("192.168.1.7").endpoint_url(8765),
        "http://192.168.1.7:8765/mcp"
    );
    assert_eq!(
        host("[2001:db8::7]:8080").endpoint_url(8765),
        "http://[2001:db8::7]:8080/mcp"
    );
}

#[test]
fn a_default_port_may_be_omitted_with_its_own_scheme_only() {
    let proxied = host("hub.example:443");
    assert_eq!(
        proxied.authorities(8765),
        ["hub.example:443", "hub.example"]
    );
    assert_eq!(
        proxied.origins(8765),
        [
            "http://hub.example:443",
            "https://hub.example:443",
            "https://hub.example"
        ]
    );
    assert_eq!(proxied.endpoint_url(8765), "https://hub.example/mcp");
    let plain = host("hub.example:80");
    assert!(!plain.origins(8765).contains(&"https://hub.example".into()));
    assert_eq!(plain.endpoint_url(8765), "http://hub.example/mcp");
}

#[test]
fn every_spelling_of_the_unspecified_address_is_refused() {
    for text in [
        "0.0.0.0",
        "0.0.0.0:80",
        "[::]",
        "[::0]:80",
        "[0:0:0:0:0:0:0:0]",
    ] {
        let refused = text.parse::<AllowedHost>();
        assert!(
            matches!(refused, Err(AllowedHostError::Unspecified(_))),
            "{text}: {refused:?}"
        );
    }
}

#[test]
fn only_exact_hosts_are_accepted() {
    for text in [
        "",
        "*",
        "*.example",
        "hub.",
        ".hub",
        "-hub",
        "a b",
        "user@hub",
        "http://hub",
        "hub/mcp",
        "hub:",
        "hub:0",
        "hub:+80",
        "hub:65536",
        "hub:80:80",
        "::1",
        "[::1",
        "[hub]",
        "[::1]x",
        "0.0.0.0",
        "[::]:8765",
        "hüb",
    ] {
        assert!(text.parse::<AllowedHost>().is_err(), "{text}");
    }
}

#[test]
fn a_host_is_written_as_it_was_read() {
    for text in ["hub", "hub:8080", "[::1]:80", "10.0.0.1"] {
        assert_eq!(host(text).to_string(), text);
    }
}
