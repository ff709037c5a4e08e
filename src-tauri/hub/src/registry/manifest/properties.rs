//! A property of manifests that holds for any text.

use std::collections::BTreeMap;

use drawbridge_store::secrets::referenced_names;

use super::read;

/// Any text is either read as a manifest or rejected. Each spec that is made from a manifest is
/// valid, and refers to no stored secret, because no person has entered a reference.
pub(crate) fn a_manifest_has_only_its_own_secrets(text: &str) {
    let Ok(manifest) = read(text) else {
        return;
    };
    assert!(!manifest.choices.is_empty());
    let _ = manifest.first_usable();
    let _ = manifest.server_name();
    for choice in &manifest.choices {
        let _ = choice.preview();
        for value in ["1", "a b", "https://x.test/?a=b"] {
            let values: BTreeMap<_, _> = (choice.inputs.iter())
                .map(|input| (input.name.clone(), value.to_owned()))
                .collect();
            let Ok(filled) = choice.fill("server", &values, &BTreeMap::new()) else {
                continue;
            };
            filled.spec.check().expect("a valid spec");
            let texts: Vec<&String> = (filled.spec.values_with_references())
                .chain(filled.secret_env.values())
                .chain(filled.secret_headers.values())
                .collect();
            for text in texts {
                assert_eq!(referenced_names(text), Vec::<String>::new(), "{text}");
            }
        }
    }
}
