//! The features of each cell, under the names that the clients print.

/// A feature of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    /// The description for the docs.
    pub(crate) description: &'static str,
}

pub(crate) const ALL: [Feature; 16] = [
    feature("list", "list tools, prompts, resources, templates"),
    feature("call", "call a tool"),
    feature("progress", "progress of a call"),
    feature("cancel", "cancel a call"),
    feature("sampling", "a tool asks the client's model"),
    feature("elicitation", "a tool asks the person"),
    feature("roots", "a tool asks for the roots"),
    feature("read", "read a resource"),
    feature("subscribe", "hear that a resource was updated"),
    feature("prompt", "get a prompt"),
    feature("completion", "complete an argument"),
    feature("list_changed", "hear that the tools changed"),
    feature("logging", "log messages of a call"),
    feature("structured", "structured content"),
    feature("image", "image"),
    feature("audio", "audio"),
];

const fn feature(name: &'static str, what: &'static str) -> Feature {
    Feature {
        name,
        description: what,
    }
}
