use super::*;

fn dial_policy(server: &str) -> DialPolicy {
    DialPolicy::for_server(&Url::parse(server).expect("a URL")).expect("a server to sign in to")
}

fn passes_check_url(server: &str, url: &str) -> bool {
    dial_policy(server)
        .check_url(&Url::parse(url).expect("a URL"))
        .is_ok()
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn a_hostile_authorization_url_is_not_opened() {
    let hostile = [
        "javascript:alert(1)",
        "JavaScript:alert(1)//https://auth.example.com",
        "file:///etc/passwd",
        "data:text/html,<script>alert(1)</script>",
        "vscode://x",
        "ms-msdt:/id PCWDiagnostic",
        "smb://attacker.example/share",
        "ssh://-oProxyCommand=calc/x",
        "--version",
        "-https://auth.example.com",
        "",
        "https://",
        "http://auth.example.com/authorize",
        "http://10.0.0.1/authorize",
        "https://auth.example.com/$(touch /tmp/x)",
        "https://auth.example.com/`touch`",
        "https://auth.example.com/a;touch",
        "https://auth.example.com/a|touch",
        "https://auth.example.com/a'b",
        "https://auth.example.com/a\"&calc",
        "https://auth.example.com/a b",
        "https://auth.example.com/a\nb",
        "https://auth.example.com/a\0b",
        "https://auth.example.com/^&calc",
        "https://auth.example.com\\@attacker.example/",
        "https://auth.example.com@attacker.example/",
        "https://user:word@auth.example.com/",
        "https://auth.example.com/\u{202e}moc",
        " https://auth.example.com/",
    ];
    for url in hostile {
        assert!(check_browser_url(url).is_err(), "{url:?} would be opened");
    }
    assert!(
        check_browser_url(&format!(
            "https://auth.example.com/{}",
            "a".repeat(MAX_URL_BYTES)
        ))
        .is_err()
    );
}

#[test]
fn an_honest_authorization_url_is_opened() {
    for url in [
        "https://auth.example.com/authorize?response_type=code&scope=a+b%3Ac&redirect_uri=http%3A%2F%2F127.0.0.1%3A1",
        "https://login.example.com:8443/t/oauth2/v2.0/authorize",
        "http://127.0.0.1:4000/auth?x=1",
        "http://localhost:4000/auth",
        "http://[::1]:4000/auth",
    ] {
        assert!(
            check_browser_url(url).is_ok(),
            "{:?}",
            check_browser_url(url)
        );
    }
}

#[test]
fn metadata_of_a_public_server_can_name_only_https_urls_of_public_addresses() {
    let server = "https://mcp.example.com/mcp";
    for url in [
        "http://auth.example.com/token",
        "https://127.0.0.1/token",
        "https://localhost/token",
        "https://a.localhost/token",
        "https://10.0.0.9/token",
        "https://192.168.1.1/token",
        "https://172.16.0.1/token",
        "https://100.64.0.1/token",
        "https://169.254.169.254/latest/meta-data/",
        "https://0.0.0.0/token",
        "https://[::1]/token",
        "https://[fd00::1]/token",
        "https://[fe80::1]/token",
        "https://[::ffff:127.0.0.1]/token",
        "https://[64:ff9b::10.0.0.1]/token",
        "https://2130706433/token",
        "https://0x7f.1/token",
        "https://u@auth.example.com/token",
        "javascript:alert(1)",
        "file:///etc/passwd",
    ] {
        assert!(!passes_check_url(server, url), "{url} would be dialled");
    }
    assert!(
        passes_check_url(server, "https://auth.example.com/token")
            && passes_check_url(server, "https://93.184.216.34/token")
    );
}

#[test]
fn a_host_that_resolves_to_a_private_address_is_rejected() {
    let public = dial_policy("https://mcp.example.com/mcp");
    for private in ["127.0.0.1", "10.0.0.9", "169.254.169.254", "::1", "fd00::1"] {
        assert!(
            !public.allows("auth.example.com", address(private)),
            "{private}"
        );
    }
    assert!(public.allows("auth.example.com", address("93.184.216.34")));
    assert!(
        public.allows("MCP.example.com.", address("10.0.0.9")),
        "the server's own host may have a private address"
    );
    assert!(
        !public.allows("mcp.example.com", address("127.0.0.1")),
        "a public server's host must not resolve to loopback"
    );
    assert!(!public.allows("mcp.example.com", address("169.254.169.254")));
}

#[test]
fn a_private_server_allows_no_private_address_but_its_own() {
    let private_server = dial_policy("https://10.0.0.4/mcp");
    assert!(
        private_server.allows("10.0.0.4", address("10.0.0.4"))
            && !private_server.allows("10.0.0.9", address("10.0.0.9"))
    );
}

#[test]
fn a_server_on_this_machine_may_have_its_authorization_server_there() {
    let server = "http://127.0.0.1:3000/mcp";
    assert!(
        passes_check_url(server, "http://127.0.0.1:4000/token")
            && passes_check_url(server, "http://localhost:4000/token")
    );
    assert!(
        !passes_check_url(server, "http://10.0.0.9/token")
            && !passes_check_url(server, "http://auth.example.com/token")
    );
    assert!(!passes_check_url(server, "http://169.254.169.254/"));
}

#[test]
fn no_token_goes_over_the_network_in_plain_text() {
    assert!(
        DialPolicy::for_server(&Url::parse("http://mcp.example.com/mcp").expect("a URL")).is_err()
    );
}
