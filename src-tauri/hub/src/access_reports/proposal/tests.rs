use drawbridge_model::access_report::{AddressUse, FileUse};
use serde_json::json;

use super::*;

const HOME: &str = "/home/me";

/// The files of a computer, by path; folders end with a slash.
const FILES: &[&str] = &[
    "/",
    "/home/me/",
    "/home/me/project/",
    "/home/me/project/.git/",
    "/home/me/project/src/main.rs",
    "/home/me/project/src/",
    "/home/me/project/docs/a/b.md",
    "/home/me/project/node_modules/",
    "/home/me/Documents/",
    "/home/me/Documents/1.txt",
    "/home/me/Documents/2.txt",
    "/home/me/Documents/3.txt",
    "/home/me/Documents/4.txt",
    "/home/me/Documents/work/",
    "/home/me/Documents/work/x.txt",
    "/home/me/notes.txt",
    "/home/me/.gitconfig",
    "/home/me/.config/",
    "/home/me/.config/app/",
    "/home/me/.config/app/settings.json",
    "/home/me/.local/share/app/",
    "/home/me/.local/share/app/data/1.db",
    "/home/me/.ssh/",
    "/home/me/.ssh/id_ed25519",
    "/home/me/.aws/credentials",
    "/home/me/.config/google-chrome/Default/Cookies",
    "/home/me/.bashrc",
    "/home/me/.npm/",
    "/home/me/work/.env",
    "/home/me/data/",
    "/srv/",
    "/srv/shared/",
    "/srv/shared/file",
    "/var/",
    "/var/lib/",
    "/var/lib/app/",
    "/var/lib/app/state.db",
];

fn kind_of(path: &Path) -> Option<FileKind> {
    let path = path.to_str()?;
    let folder = format!("{}/", path.trim_end_matches('/'));
    if FILES.contains(&folder.as_str()) {
        return Some(FileKind::Folder);
    }
    FILES.contains(&path).then_some(FileKind::File)
}

fn machine() -> Machine<'static> {
    Machine {
        home: Some(PathBuf::from(HOME)),
        temporary: vec![PathBuf::from("/tmp")],
        data_dir: PathBuf::from("/home/me/.local/share/drawbridge"),
        has_sandboxes: true,
        limits_ports: true,
        kind_of: &kind_of,
    }
}

fn spec(value: serde_json::Value) -> ServerSpec {
    serde_json::from_value(value).expect("a spec")
}

fn file(path: &str, access: FileAccess) -> FileUse {
    FileUse {
        path: path.to_owned(),
        access,
        is_folder: path.ends_with('/'),
        files: 1,
        refused: false,
    }
}

fn address(kind: AddressKind, port: u16) -> AddressUse {
    AddressUse {
        kind,
        address: "10.0.0.1".to_owned(),
        port,
        refused: false,
    }
}

fn propose_files(files: Vec<FileUse>) -> SandboxProposal {
    let used = AccessSummary {
        files,
        ..AccessSummary::default()
    };
    let spec = spec(json!({"name": "s", "command": "server", "env": {"DATA": "/home/me/data"}}));
    propose(&spec, None, &used, &machine())
}

#[test]
fn files_are_folded_to_the_folder_to_which_they_belong() {
    let read = FileAccess::Read;
    for (paths, expected) in [
        // The top of a project.
        (&["/home/me/project/src/main.rs"][..], &["~/project"][..]),
        (&["/home/me/project/.git"], &["~/project"]),
        (&["/home/me/project/node_modules"], &["~/project"]),
        (
            &["/home/me/project/docs/a/b.md", "/home/me/project/src"],
            &["~/project"],
        ),
        // A folder that the spec names.
        (&["/home/me/data/a/b/c"], &["~/data"]),
        // The folder of a program's settings or data.
        (&["/home/me/.config/app/settings.json"], &["~/.config/app"]),
        (
            &["/home/me/.local/share/app/data/1.db"],
            &["~/.local/share/app"],
        ),
        // A file directly in the home folder.
        (&["/home/me/.gitconfig"], &["~/.gitconfig"]),
        (&["/home/me/notes.txt"], &["~/notes.txt"]),
        // Single files in a folder directly below the home folder; if there are many, the folder.
        (
            &["/home/me/Documents/1.txt", "/home/me/Documents/2.txt"],
            &["~/Documents/1.txt", "~/Documents/2.txt"],
        ),
        (
            &[
                "/home/me/Documents/1.txt",
                "/home/me/Documents/2.txt",
                "/home/me/Documents/3.txt",
                "/home/me/Documents/4.txt",
                "/home/me/Documents/work/x.txt",
            ],
            &["~/Documents"],
        ),
        // The folder of any other file.
        (&["/home/me/Documents/work/x.txt"], &["~/Documents/work"]),
        (&["/var/lib/app/state.db"], &["/var/lib/app"]),
        (&["/srv/shared/file"], &["/srv/shared"]),
    ] {
        let files = paths.iter().map(|path| file(path, read)).collect();
        let proposal = propose_files(files);
        assert_eq!(proposal.sandbox.read, expected, "{paths:?}");
        assert_eq!(proposal.sandbox.write, [""; 0], "{paths:?}");
        assert_eq!(proposal.excluded, [], "{paths:?}");
    }
}

#[test]
fn an_excluded_path_is_listed_with_its_reason_and_not_proposed() {
    use ExclusionReason::{Missing, Own, Private, System, TooBroad};
    let (read, write) = (FileAccess::Read, FileAccess::Write);
    for (path, access, excluded, reason) in [
        ("/home/me/.ssh/id_ed25519", read, "~/.ssh", Private),
        ("/home/me/.aws/credentials", read, "~/.aws", Private),
        (
            "/home/me/.config/google-chrome/Default/Cookies",
            read,
            "~/.config/google-chrome",
            Private,
        ),
        ("/home/me/.bashrc", write, "~/.bashrc", Private),
        ("/home/me/work/.env", read, "~/work/.env", Private),
        (
            "/home/me/.local/share/drawbridge/drawbridge.db",
            read,
            "~/.local/share/drawbridge",
            Private,
        ),
        ("/home/me", read, "/home/me", TooBroad),
        ("/home/me/.config", read, "~/.config", TooBroad),
        ("/", read, "/", TooBroad),
        ("/srv", read, "/srv", TooBroad),
        ("/var", write, "/var", TooBroad),
        ("/usr/lib/x", write, "/usr/lib/x", System),
        ("/dev/sda", read, "/dev/sda", System),
        (
            "/home/me/project/node_modules",
            write,
            "~/project/node_modules",
            System,
        ),
        ("/tmp/x/y", write, "/tmp", Own),
        ("/home/me/.npm", read, "~/.npm", Own),
        ("/home/me/gone.txt", write, "~/gone.txt", Missing),
        ("/srv/gone/file", read, "/srv/gone", Missing),
    ] {
        let proposal = propose_files(vec![file(path, access)]);
        let found: Vec<_> = proposal
            .excluded
            .iter()
            .map(|path| (path.path.as_str(), path.access, path.reason))
            .collect();
        assert_eq!(found, [(excluded, access, reason)], "{path}");
        assert_eq!(proposal.sandbox.read, [""; 0], "{path}");
        assert_eq!(proposal.sandbox.write, [""; 0], "{path}");
    }
}

#[test]
fn a_folder_that_is_written_need_not_be_listed_for_reading() {
    let proposal = propose_files(vec![
        file("/home/me/project/src/main.rs", FileAccess::Read),
        file("/home/me/project/docs/new.md", FileAccess::Write),
        file("/srv/shared/file", FileAccess::Read),
    ]);
    assert_eq!(proposal.sandbox.write, ["~/project"]);
    assert_eq!(proposal.sandbox.read, ["/srv/shared"]);
}

#[test]
fn a_folder_among_the_arguments_is_proposed_even_if_it_was_not_used() {
    let arguments = [
        "--dir=/home/me/data",
        "/srv/shared",
        "~/.ssh",
        "/home/me",
        "/gone",
    ];
    let spec = spec(json!({"name": "s", "command": "server", "args": arguments}));
    let proposal = propose(&spec, None, &AccessSummary::default(), &machine());
    assert_eq!(proposal.sandbox.read, ["/srv/shared", "~/data"]);
    let excluded: Vec<_> = proposal.excluded.iter().map(|path| &path.path).collect();
    assert_eq!(excluded, [""; 0]);
}

#[test]
fn a_path_that_the_sandbox_refused_is_not_proposed() {
    let refused = FileUse {
        refused: true,
        ..file("/home/me/project/src/main.rs", FileAccess::Read)
    };
    let proposal = propose_files(vec![refused]);
    assert_eq!(proposal.sandbox.read, [""; 0]);
    assert_eq!(proposal.excluded, []);
}

#[test]
fn paths_and_ports_that_a_person_listed_stay() {
    let current = Sandbox {
        read: vec!["~/Documents".into(), "~/both".into()],
        network: SandboxNetwork::Listed,
        connect: vec![443],
        ..Sandbox::default()
    };
    let used = AccessSummary {
        files: vec![file("/home/me/project/src/main.rs", FileAccess::Write)],
        addresses: vec![address(AddressKind::Connect, 5432)],
        ..AccessSummary::default()
    };
    let spec = spec(json!({"name": "s", "command": "server"}));
    let sandbox = propose(&spec, Some(&current), &used, &machine()).sandbox;
    assert_eq!(sandbox.read, ["~/Documents", "~/both"]);
    assert_eq!(sandbox.write, ["~/project"]);
    assert_eq!(sandbox.connect, [443, 5432]);
}

#[test]
fn the_network_is_limited_to_the_ports_that_were_used() {
    use AddressKind::{Bind, Connect, LocalSocket, Udp};
    use SandboxNetwork::{All, Listed, None};
    let local = json!({"name": "s", "command": "server"});
    let npx = json!({"name": "s", "command": "npx", "args": ["-y", "a@1.0.0"]});
    let url = json!({"name": "s", "command": "server", "url": "http://127.0.0.1:8123/mcp"});
    let ports = |first: u16, last: u16| -> Vec<(AddressKind, u16)> {
        (first..=last).map(|port| (Connect, port)).collect()
    };
    for (spec_json, used, network, connect, bind) in [
        (&local, vec![], None, vec![], vec![]),
        (&local, vec![(Connect, 443)], Listed, vec![443], vec![]),
        (&local, vec![(Udp, 53)], Listed, vec![], vec![]),
        (
            &local,
            vec![(Bind, 0), (Connect, 80)],
            Listed,
            vec![80],
            vec![0],
        ),
        (&local, vec![(LocalSocket, 0)], None, vec![], vec![]),
        (&local, ports(1000, 1100), All, vec![], vec![]),
        // `npx` has to download the server's package once.
        (&npx, vec![], Listed, vec![443], vec![]),
        (&url, vec![], Listed, vec![], vec![8123]),
    ] {
        let summary = AccessSummary {
            addresses: used
                .iter()
                .map(|(kind, port)| address(*kind, *port))
                .collect(),
            ..AccessSummary::default()
        };
        let spec = spec(spec_json.clone());
        let sandbox = propose(&spec, Option::None, &summary, &machine()).sandbox;
        assert_eq!(sandbox.network, network, "{spec_json} {used:?}");
        assert_eq!((sandbox.connect, sandbox.bind), (connect, bind), "{used:?}");
        let uses_local = used.iter().any(|(kind, _)| *kind == LocalSocket);
        assert_eq!(sandbox.local_sockets, uses_local, "{used:?}");
    }
    // If the kernel cannot limit ports, a server does not start in a sandbox that lists ports.
    let summary = AccessSummary {
        addresses: vec![address(Connect, 443)],
        ..AccessSummary::default()
    };
    let older = Machine {
        limits_ports: false,
        ..machine()
    };
    let sandbox = propose(&spec(local), Option::None, &summary, &older).sandbox;
    assert_eq!((sandbox.network, sandbox.connect), (All, vec![]));
}
