//! Generated servers, the same in every run: a hundred tools each, with definitions as long as
//! those of public servers.

use std::{path::PathBuf, sync::Arc};

use drawbridge_hub::catalog::{Definition, Offered};
use drawbridge_model::{
    capability::CapabilityKind,
    ids::ServerId,
    spec::{RegisteredServer, ServerSpec},
};
use serde_json::{Value, json};

const TOOLS_PER_SERVER: usize = 100;

const VERBS: [&str; 20] = [
    "read", "write", "list", "create", "delete", "update", "search", "send", "fetch", "merge",
    "close", "assign", "export", "import", "rename", "archive", "restore", "compare", "schedule",
    "cancel",
];
const NOUNS: [&str; 25] = [
    "file",
    "folder",
    "issue",
    "comment",
    "branch",
    "commit",
    "release",
    "message",
    "channel",
    "calendar",
    "event",
    "invoice",
    "customer",
    "table",
    "query",
    "dashboard",
    "alert",
    "image",
    "page",
    "document",
    "ticket",
    "contact",
    "backup",
    "container",
    "pipeline",
];
const WORDS: [&str; 40] = [
    "the",
    "given",
    "of",
    "a",
    "project",
    "with",
    "its",
    "owner",
    "and",
    "all",
    "labels",
    "in",
    "order",
    "by",
    "date",
    "returns",
    "at",
    "most",
    "hundred",
    "entries",
    "as",
    "text",
    "or",
    "where",
    "none",
    "is",
    "found",
    "an",
    "error",
    "user",
    "must",
    "have",
    "access",
    "to",
    "repository",
    "workspace",
    "identifier",
    "optional",
    "default",
    "filter",
];

/// A server, and its tools in JSON.
pub(crate) struct GeneratedServer {
    pub(crate) id: ServerId,
    pub(crate) tools: Vec<String>,
}

/// Returns as many servers as `tools` tools need.
pub(crate) fn servers(tools: usize) -> Vec<GeneratedServer> {
    let mut rng = Rng(1);
    let server = |number| {
        let tools = (0..TOOLS_PER_SERVER)
            .map(|index| generate_tool(&mut rng, number * TOOLS_PER_SERVER + index))
            .collect();
        GeneratedServer {
            id: ServerId::new(format!("server-{number:03}")),
            tools,
        }
    };
    (0..tools / TOOLS_PER_SERVER).map(server).collect()
}

impl GeneratedServer {
    /// Returns the server's spec: a command, and the members of `extra_members`.
    pub(crate) fn spec(&self, extra_members: &Value) -> ServerSpec {
        let mut spec = extra_members.clone();
        spec["command"] = "generated-server".into();
        spec["args"] = json!([self.id.as_str()]);
        serde_json::from_value(spec).expect("a spec")
    }

    pub(crate) fn registered(&self, extra_members: &Value) -> Arc<RegisteredServer> {
        Arc::new(RegisteredServer::new(
            self.id.clone(),
            self.spec(extra_members),
            PathBuf::new(),
        ))
    }

    /// Returns the server's tools, parsed.
    pub(crate) fn offered(&self) -> Offered {
        let parse = |text: &String| {
            Arc::new(Definition::parse(CapabilityKind::Tools, text.clone()).expect("a definition"))
        };
        Offered::from([(
            CapabilityKind::Tools,
            self.tools.iter().map(parse).collect(),
        )])
    }
}

fn generate_tool(rng: &mut Rng, number: usize) -> String {
    let name = format!("{}_{}_{number}", rng.pick(&VERBS), rng.pick(&NOUNS));
    let properties: serde_json::Map<String, Value> = (0..4)
        .map(|index| {
            let name = format!("{}_{index}", rng.pick(&NOUNS));
            (
                name,
                json!({ "type": "string", "description": rng.sentence(8) }),
            )
        })
        .collect();
    let required: Vec<&String> = properties.keys().take(2).collect();
    let schema = json!({ "type": "object", "required": required, "properties": properties });
    let annotations = json!({ "readOnlyHint": number.is_multiple_of(2) });
    let description = format!("{} {}", name.replace('_', " "), rng.sentence(24));
    json!({ "name": name, "description": description, "inputSchema": schema, "annotations": annotations }).to_string()
}

/// A pseudorandom generator with a fixed seed (a linear congruential generator with the constants
/// of Knuth's MMIX).
struct Rng(u64);

impl Rng {
    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let random = usize::try_from(self.0 >> 33).expect("31 bits");
        words[random % words.len()]
    }

    fn sentence(&mut self, length: usize) -> String {
        (0..length)
            .map(|_| self.pick(&WORDS))
            .collect::<Vec<_>>()
            .join(" ")
    }
}
