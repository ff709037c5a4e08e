//! Scopes as they are written on the command line.

use drawbridge_hub::model::ids::ServerId;

use super::Target;

#[test]
fn a_target_is_all_servers_or_one_or_one_tool() {
    let target = |server: Option<&str>, tool: Option<&str>| {
        Ok(Target { server: server.map(ServerId::new), tool: tool.map(str::to_owned) })
    };
    assert_eq!("*".parse(), target(None, None));
    assert_eq!("files".parse(), target(Some("files"), None));
    assert_eq!("files/read".parse(), target(Some("files"), Some("read")));
    assert_eq!("files/a/b".parse(), target(Some("files"), Some("a/b")));
    for wrong in ["", "/", "files/", "/read", "*/read"] {
        assert!(wrong.parse::<Target>().is_err(), "{wrong}");
    }
}
