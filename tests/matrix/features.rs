//! The features in the matrix, under the names that the clients print.

/// A feature of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    /// The description for the docs.
    pub(crate) description: &'static str,
}

pub(crate) const ALL: [Feature; 16] = [
    feature(
        "list",
        "list tools, prompts, resources and resource templates",
    ),
    feature("call", "call a tool"),
    feature("progress", "receive the progress of a call"),
    feature("cancel", "cancel a call"),
    feature(
        "sampling",
        "answer a tool's request to the model (sampling)",
    ),
    feature(
        "elicitation",
        "answer a tool's request to the user (elicitation)",
    ),
    feature("roots", "answer a tool's request for the roots"),
    feature("read", "read a resource"),
    feature("subscribe", "be notified that a resource was updated"),
    feature("prompt", "get a prompt"),
    feature("completion", "complete an argument"),
    feature("list_changed", "be notified that the list of tools changed"),
    feature("logging", "receive the log messages of a call"),
    feature("structured", "receive structured content"),
    feature("image", "receive an image"),
    feature("audio", "receive audio"),
];

const fn feature(name: &'static str, description: &'static str) -> Feature {
    Feature { name, description }
}
