//! Makes sure that there is a web UI to embed. If the web UI was not built, writes a page to
//! `ui/dist` that says how to build it.

use std::{fs, path::Path};

const PLACEHOLDER: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Drawbridge</title>\n\
    <p>The web UI was not built. Run <code>npm ci && npm run build</code> in <code>ui/</code>, then build again.</p>\n\
    </html>\n";

fn main() {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let index = dist.join("index.html");
    if !index.exists()
        && let Err(e) = fs::create_dir_all(&dist).and_then(|()| fs::write(&index, PLACEHOLDER))
    {
        println!("cargo::error=cannot write {}: {e}", index.display());
    }
}
