//! The flags that Drawbridge sets on suspicious texts of a server, such as instructions to a model,
//! hidden characters, and names that look like other names.

use serde::{Deserialize, Serialize};

/// The handling of suspicious texts of a server. No text of the server is ever changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ContentDefence {
    /// Nothing is checked.
    #[default]
    Off,
    /// The flags are recorded and shown. A flagged result gets a notice, which says that the result
    /// is data of the server.
    Mark,
    /// Like `mark`. In addition, a flagged result is held until a person releases it, and each
    /// flagged definition waits until a person accepts it on its own.
    Ask,
}

/// Why a text is flagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum FlagKind {
    /// The text tells the model to ignore its instructions, or gives it new instructions.
    Instructions,
    /// The text tells the model to hide something from the user.
    Concealment,
    /// The text contains a tag or a token that marks who speaks in a conversation with a model.
    RoleTag,
    /// The text asks for private files, such as SSH keys.
    PrivateFile,
    /// The text orders the model to call tools.
    ToolCall,
    /// The text asks to send data away, or has an image whose URL would carry data away.
    Exfiltration,
    /// The text contains characters that are invisible, or that change the order of the text.
    HiddenCharacters,
    /// The name of a tool looks like the name of another server's tool.
    LookAlike,
    /// The text is too long to be checked as a whole.
    Unchecked,
}

/// A suspicious part of a server's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct ContentFlag {
    pub kind: FlagKind,
    /// A JSON pointer to the text, such as `/content/0/text`. It ends with `~` if the text is the
    /// name of a member.
    pub place: String,
    /// The suspicious part, of at most 120 characters; a hidden character is written as `U+200B`.
    pub excerpt: String,
}
