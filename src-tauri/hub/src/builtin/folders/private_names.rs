//! The names of private files and folders, which are shared only if a person shares all files of a
//! folder: hidden files, and files that usually hold secrets.

use std::path::{Component, Path};

/// Names of files and folders that usually hold secrets, in lower case. Hidden names are private
/// anyway, so they need no entry.
const SECRET_NAMES: [&str; 22] = [
    "_netrc",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "credentials.yaml",
    "credentials.yml",
    "htpasswd",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
    "secrets",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "shadow",
    "terraform.tfstate",
    "terraform.tfvars",
    "wallet.dat",
];

/// Extensions of files that usually hold secrets, in lower case.
const SECRET_EXTENSIONS: [&str; 13] = [
    "env", "jks", "kdb", "kdbx", "key", "keystore", "ovpn", "p12", "pem", "pfx", "pgpass", "ppk",
    "tfvars",
];

/// Returns whether a path within a shared folder is private: one of its parts is hidden, usually
/// holds a secret, or leads out of the folder.
pub(super) fn is_private(path: &Path) -> bool {
    path.components().any(|part| match part {
        Component::Normal(name) => is_private_name(&name.to_string_lossy()),
        Component::CurDir => false,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => true,
    })
}

fn is_private_name(name: &str) -> bool {
    if name.starts_with('.') {
        return true;
    }
    let name = name.to_lowercase();
    let mut name = name.as_str();
    // Backups and editors' copies of a file hold the same secret.
    while let Some(original) = name.strip_suffix(".bak").or_else(|| name.strip_suffix('~')) {
        name = original;
    }
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    SECRET_NAMES.contains(&name)
        || extension.is_some_and(|extension| SECRET_EXTENSIONS.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_files_and_likely_secrets_are_private() {
        for path in [
            ".env",
            "app/.env.local",
            ".ssh/config",
            ".git/credentials",
            "keys/id_rsa",
            "ID_ED25519",
            "server.PEM",
            "prod.env",
            "secrets.yaml",
            "secrets.yaml.bak",
            "id_rsa~",
            "id_rsa.bak~",
            "id_rsa~.bak",
            "server.key~.BAK~",
            ".bak",
            "infra/terraform.tfstate",
            "passwords.kdbx",
            "../outside",
        ] {
            assert!(is_private(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn ordinary_files_are_not_private() {
        for path in [
            "notes.md",
            "src/secrets_of_success.txt",
            "environment.md",
            "keyboard.txt",
            "a/b/id_rsa.pub",
            "monkey",
            "",
        ] {
            assert!(!is_private(Path::new(path)), "{path}");
        }
    }
}
