use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    io::Cursor,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use minisign::KeyPair;
use minisign_verify::PublicKey;
use semver::Version;
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    sync::mpsc,
};

use super::{
    Source, UpdateError, Updates, UpdatesDisabled, check_regularly, find_app_image, is_packaged,
    read_build_variable,
    release::{SignatureError, signed_comment},
    target,
};
use crate::input::Input;

const NEW_APP: &[u8] = b"the new app";
const OLD_APP: &[u8] = b"the old app";

/// A publisher's web server on this computer, and an installed AppImage.
struct Rig {
    key: KeyPair,
    /// The folder of the AppImage.
    folder: TempDir,
    address: String,
    /// The files on the web server, by path.
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    /// The paths that were requested.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Rig {
    async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let rig = Self {
            key: KeyPair::generate_unencrypted_keypair().expect("a key"),
            folder,
            address,
            files: Arc::default(),
            requests: Arc::default(),
        };
        fs::write(rig.app_image(), OLD_APP).expect("install the old app");
        fs::set_permissions(rig.app_image(), fs::Permissions::from_mode(0o755))
            .expect("make the app executable");
        let (files, requests) = (Arc::clone(&rig.files), Arc::clone(&rig.requests));
        tokio::spawn(serve(listener, files, requests));
        rig
    }

    fn app_image(&self) -> PathBuf {
        self.folder.path().join("Drawbridge.AppImage")
    }

    /// Returns the updates of version 0.1.0.
    fn updates(&self) -> Updates {
        let endpoint = format!("http://{}/releases.json", self.address);
        let source = Source {
            endpoint: endpoint.parse().expect("a URL"),
            key: PublicKey::from_base64(&self.key.pk.to_base64()).expect("a key"),
            app_image: self.app_image(),
        };
        Updates::with_source(Ok(source), Version::new(0, 1, 0), self.folder.path())
    }

    /// Publishes a release with this signature.
    fn publish(&self, version: &str, signature: &str) {
        let file = json!({
            "url": format!("http://{}/Drawbridge.AppImage", self.address),
            "signature": signature,
        });
        let list = json!({
            "version": version,
            "notes": "What is new",
            "platforms": {target(): file},
        });
        let mut files = self.files.lock().expect("no panic elsewhere");
        files.insert("/releases.json".into(), list.to_string().into_bytes());
        files.insert("/Drawbridge.AppImage".into(), NEW_APP.to_vec());
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic elsewhere").clone()
    }

    /// Returns the names of the files in the folder of the AppImage.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("read the folder");
        entries
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }
}

/// Answers each request with a file, or with the status 404.
async fn serve(
    listener: TcpListener,
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    requests: Arc<Mutex<Vec<String>>>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let mut stream = BufReader::new(stream);
        let mut path = String::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.expect("read the request");
            if line.trim().is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("GET ") {
                path = rest.split(' ').next().unwrap_or_default().to_owned();
            }
        }
        let body = files
            .lock()
            .expect("no panic elsewhere")
            .get(&path)
            .cloned();
        requests.lock().expect("no panic elsewhere").push(path);
        let status = if body.is_some() {
            "200 OK"
        } else {
            "404 Not Found"
        };
        let body = body.unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        let answer = [head.as_bytes(), &body].concat();
        stream.write_all(&answer).await.expect("answer");
    }
}

fn sign(key: &KeyPair, file: &[u8], comment: &str) -> String {
    minisign::sign(
        Some(&key.pk),
        &key.sk,
        Cursor::new(file),
        Some(comment),
        None,
    )
    .expect("sign the file")
    .into_string()
}

fn comment_of(version: &str) -> String {
    signed_comment(&version.parse().expect("a version"), &target())
}

#[tokio::test]
async fn a_signed_release_replaces_the_app_after_the_person_asked_for_the_installation() {
    let rig = Rig::start().await;
    rig.publish("0.2.0", &sign(&rig.key, NEW_APP, &comment_of("0.2.0")));
    let updates = rig.updates();
    assert!(
        matches!(updates.install().await, Err(UpdateError::NothingFound)),
        "nothing is installed that the person has not seen"
    );
    let view = updates.check().await.expect("the list can be read");
    let available = view.available.expect("a newer release");
    assert_eq!(
        (available.version.as_str(), available.notes.as_str()),
        ("0.2.0", "What is new")
    );
    assert_eq!(
        rig.requests(),
        ["/releases.json"],
        "the search downloads nothing"
    );
    assert_eq!(fs::read(rig.app_image()).expect("the app"), OLD_APP);

    let view = updates.install().await.expect("the release is signed");
    assert_eq!(
        (view.available, view.installed.as_deref()),
        (None, Some("0.2.0"))
    );
    assert_eq!(fs::read(rig.app_image()).expect("the app"), NEW_APP);
    let mode = fs::metadata(rig.app_image())
        .expect("the app")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(rig.files(), ["Drawbridge.AppImage"]);

    let view = updates.check().await.expect("the list can be read");
    assert_eq!(view.available, None, "the release is installed already");
}

#[tokio::test]
async fn a_file_that_the_publisher_did_not_sign_as_this_release_is_refused() {
    let rig = Rig::start().await;
    let other_key = KeyPair::generate_unencrypted_keypair().expect("a key");
    let comment = comment_of("0.2.0");
    let refused = |signature: String| {
        let rig = &rig;
        async move {
            rig.publish("0.2.0", &signature);
            let updates = rig.updates();
            updates.check().await.expect("the list can be read");
            let error = updates.install().await.expect_err("refused");
            assert_eq!(fs::read(rig.app_image()).expect("the app"), OLD_APP);
            assert_eq!(rig.files(), ["Drawbridge.AppImage"], "nothing is left");
            let UpdateError::Signature(error) = error else {
                panic!("{error}");
            };
            error
        }
    };
    let error = refused(sign(&other_key, NEW_APP, &comment)).await;
    assert!(
        matches!(error, SignatureError::WrongFile),
        "another key: {error}"
    );
    let error = refused(sign(&rig.key, b"another file", &comment)).await;
    assert!(
        matches!(error, SignatureError::WrongFile),
        "another file: {error}"
    );
    let error = refused(sign(&rig.key, NEW_APP, &comment_of("0.1.0"))).await;
    assert!(
        matches!(error, SignatureError::WrongRelease { .. }),
        "an old release that is offered as a new one: {error}"
    );
    let changed = sign(&rig.key, NEW_APP, &comment_of("0.1.0")).replace("0.1.0", "0.2.0");
    let error = refused(changed).await;
    assert!(
        matches!(error, SignatureError::WrongFile),
        "a changed comment: {error}"
    );
    // The signature then begins with `Ed` instead of `ED`, in base64.
    let legacy = sign(&rig.key, NEW_APP, &comment).replace("\nRU", "\nRW");
    let error = refused(legacy).await.to_string();
    assert!(error.contains("legacy form"), "{error}");
    let error = refused(String::new()).await;
    assert!(matches!(error, SignatureError::Unreadable), "{error}");
}

#[tokio::test]
async fn releases_that_are_not_newer_are_ignored() {
    let rig = Rig::start().await;
    for version in ["0.0.9", "0.1.0-rc.1", "0.1.0"] {
        rig.publish(version, &sign(&rig.key, NEW_APP, &comment_of(version)));
        let view = rig.updates().check().await.expect("the list can be read");
        assert_eq!(view.available, None, "{version}");
    }
}

#[tokio::test]
async fn a_list_that_is_missing_or_broken_is_an_error() {
    let rig = Rig::start().await;
    let error = rig.updates().check().await.expect_err("there is no list");
    assert!(error.to_string().contains("404 Not Found"), "{error}");
    let publish = |list: &str| {
        let mut files = rig.files.lock().expect("no panic elsewhere");
        files.insert("/releases.json".into(), list.as_bytes().to_vec());
    };
    publish("[]");
    let error = rig
        .updates()
        .check()
        .await
        .expect_err("the answer is no list");
    assert!(matches!(error, UpdateError::InvalidList(_)), "{error}");
    publish(r#"{"version": "0.2.0", "platforms": {}}"#);
    let error = rig
        .updates()
        .check()
        .await
        .expect_err("the release has no file");
    assert_eq!(
        error.to_string(),
        format!("release 0.2.0 has no file for this computer ({})", target())
    );
}

#[tokio::test(start_paused = true)]
async fn the_app_looks_for_updates_by_itself_only_if_the_person_switched_the_search_on() {
    let rig = Rig::start().await;
    rig.publish("0.2.0", &sign(&rig.key, NEW_APP, &comment_of("0.2.0")));
    let (inputs, mut received) = mpsc::unbounded_channel();
    let updates = rig.updates();
    assert!(!updates.view().automatic);
    tokio::select! {
        () = check_regularly(&updates, inputs.clone()) => {}
        () = tokio::time::sleep(std::time::Duration::from_secs(10 * 24 * 60 * 60)) => {}
    }
    assert_eq!(rig.requests(), Vec::<String>::new());

    updates.set_automatic(true).expect("the choice is stored");
    let updates = rig.updates();
    assert!(updates.view().automatic, "a new start knows the choice");
    tokio::time::resume();
    let found = tokio::select! {
        () = check_regularly(&updates, inputs.clone()) => None,
        found = received.recv() => found,
    };
    assert!(matches!(found, Some(Input::UpdateFound(version)) if version == "0.2.0"));
    assert_eq!(rig.requests(), ["/releases.json"], "nothing is downloaded");
}

#[tokio::test]
async fn a_copy_that_cannot_update_itself_gives_the_reason_and_does_not_search() {
    let folder = tempfile::tempdir().expect("a folder");
    let disabled = UpdatesDisabled::PackageManager;
    let updates = Updates::with_source(Err(disabled), Version::new(0, 1, 0), folder.path());
    assert_eq!(updates.view().disabled, Some(disabled));
    assert!(matches!(updates.check().await, Err(UpdateError::Disabled)));
    assert!(matches!(
        updates.install().await,
        Err(UpdateError::Disabled)
    ));
    assert!(matches!(
        updates.set_automatic(true),
        Err(UpdateError::Disabled)
    ));
    let (inputs, _received) = mpsc::unbounded_channel();
    check_regularly(&updates, inputs).await;
}

#[test]
fn the_environment_does_not_replace_a_variable_of_the_build() {
    assert_eq!(
        read_build_variable("PATH", Some("built")).as_deref(),
        Some("built")
    );
}

#[test]
fn a_program_is_packaged_if_it_is_in_usr_but_not_in_usr_local() {
    assert!(is_packaged(Path::new("/usr/bin/drawbridge-desktop")));
    for program in [
        "/usr/local/bin/drawbridge-desktop",
        "/home/ada/.local/bin/drawbridge-desktop",
        "/tmp/.mount_Drawbr/usr/bin/drawbridge-desktop",
    ] {
        assert!(!is_packaged(Path::new(program)), "{program}");
    }
}

#[test]
fn the_app_image_contains_the_program() {
    let program = Path::new("/tmp/.mount_Drawbr/usr/bin/drawbridge-desktop");
    let find = |folder: &str| {
        let app_image = Some(OsStr::new("/home/ada/Drawbridge.AppImage"));
        find_app_image(program, Some(OsStr::new(folder)), app_image)
    };
    assert_eq!(
        find("/tmp/.mount_Drawbr"),
        Some(PathBuf::from("/home/ada/Drawbridge.AppImage"))
    );
    assert_eq!(
        find("/tmp/.mount_Other"),
        None,
        "the variables belong to the program that started this program"
    );
    assert_eq!(find(""), None);
    assert_eq!(find_app_image(program, None, None), None);
}
