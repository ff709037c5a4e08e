//! The methods whose requests are decided and recorded before they are sent.

use serde::{Deserialize, Serialize};

use crate::policy::RequestKind;

/// A method whose requests the policy decides. Every such request has a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub enum GuardedMethod {
    #[serde(rename = "tools/call")]
    CallTool,
    #[serde(rename = "prompts/get")]
    GetPrompt,
    #[serde(rename = "resources/read")]
    ReadResource,
    #[serde(rename = "resources/subscribe")]
    SubscribeToResource,
    #[serde(rename = "completion/complete")]
    Complete,
    #[serde(rename = "tasks/get")]
    GetTask,
    #[serde(rename = "tasks/update")]
    UpdateTask,
    #[serde(rename = "tasks/cancel")]
    CancelTask,
    #[serde(rename = "tasks/result")]
    GetTaskResult,
    #[serde(rename = "tasks/list")]
    ListTasks,
    /// A server asks the client's model for a message.
    #[serde(rename = "sampling/createMessage")]
    CreateMessage,
    /// A server asks the user for input.
    #[serde(rename = "elicitation/create")]
    Elicit,
    /// A server asks for the client's folders.
    #[serde(rename = "roots/list")]
    ListRoots,
}

impl GuardedMethod {
    pub const ALL: [Self; 13] = [
        Self::CallTool,
        Self::GetPrompt,
        Self::ReadResource,
        Self::SubscribeToResource,
        Self::Complete,
        Self::GetTask,
        Self::UpdateTask,
        Self::CancelTask,
        Self::GetTaskResult,
        Self::ListTasks,
        Self::CreateMessage,
        Self::Elicit,
        Self::ListRoots,
    ];

    /// Returns the method with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Returns the name of the method in MCP.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::GetPrompt => "prompts/get",
            Self::ReadResource => "resources/read",
            Self::SubscribeToResource => "resources/subscribe",
            Self::Complete => "completion/complete",
            Self::GetTask => "tasks/get",
            Self::UpdateTask => "tasks/update",
            Self::CancelTask => "tasks/cancel",
            Self::GetTaskResult => "tasks/result",
            Self::ListTasks => "tasks/list",
            Self::CreateMessage => "sampling/createMessage",
            Self::Elicit => "elicitation/create",
            Self::ListRoots => "roots/list",
        }
    }

    /// Returns the subject of a request as a short text, for a column of a list: the tool of a
    /// call, or else the method and the name.
    pub fn subject(self, name: &str) -> String {
        if self == Self::CallTool {
            name.to_owned()
        } else {
            format!("{} {name}", self.name()).trim_end().to_owned()
        }
    }

    /// Returns a sentence about a client and its request. `name` is the tool, prompt or resource.
    pub fn sentence(self, client: &str, server: &str, name: &str) -> String {
        self.sentence_with("wants", client, server, name)
    }

    /// Returns a sentence like [`Self::sentence`] for a request that no longer waits.
    pub fn past_sentence(self, client: &str, server: &str, name: &str) -> String {
        self.sentence_with("wanted", client, server, name)
    }

    fn sentence_with(self, wants: &str, client: &str, server: &str, name: &str) -> String {
        match self {
            Self::CallTool => format!("{client} {wants} to call {name} of {server}"),
            Self::GetPrompt => format!("{client} {wants} the prompt {name} of {server}"),
            Self::ReadResource => format!("{client} {wants} to read {name} of {server}"),
            Self::SubscribeToResource => format!("{client} {wants} to watch {name} of {server}"),
            Self::Complete => format!("{client} {wants} completions for {name} of {server}"),
            Self::GetTask | Self::GetTaskResult | Self::ListTasks => {
                format!("{client} {wants} to follow a task of {name} of {server}")
            }
            Self::UpdateTask => format!("{client} {wants} to answer a task of {name} of {server}"),
            Self::CancelTask => format!("{client} {wants} to cancel a task of {name} of {server}"),
            Self::CreateMessage => format!("{server} {wants} a message from {client}'s model"),
            Self::Elicit => format!("{server} {wants} to ask you for input in {client}"),
            Self::ListRoots => format!("{server} {wants} to know the folders of {client}"),
        }
    }

    /// Returns a sentence like [`Self::sentence`] for a request of a server that Drawbridge answers
    /// in the client's place. `sampling_provider` is the model and the provider that answer a
    /// sampling request.
    pub fn bridged_sentence(self, client: &str, server: &str, sampling_provider: &str) -> String {
        match self {
            Self::CreateMessage => {
                format!("{server} wants a message from {sampling_provider}, for {client}")
            }
            Self::Elicit => format!("{server} asks you for input, for {client}"),
            Self::CallTool
            | Self::GetPrompt
            | Self::ReadResource
            | Self::SubscribeToResource
            | Self::Complete
            | Self::GetTask
            | Self::UpdateTask
            | Self::CancelTask
            | Self::GetTaskResult
            | Self::ListTasks
            | Self::ListRoots => self.sentence(client, server, ""),
        }
    }

    /// Returns whether servers send the requests of this method to clients. Clients send all other
    /// requests to servers.
    pub fn is_sent_to_clients(self) -> bool {
        match self {
            Self::CreateMessage | Self::Elicit | Self::ListRoots => true,
            Self::CallTool
            | Self::GetPrompt
            | Self::ReadResource
            | Self::SubscribeToResource
            | Self::Complete
            | Self::GetTask
            | Self::UpdateTask
            | Self::CancelTask
            | Self::GetTaskResult
            | Self::ListTasks => false,
        }
    }

    /// Returns the kind by which rules decide a request of this method. For a completion, this is
    /// the kind of a completion of a resource template; the kind of a completion of a prompt's
    /// argument is [`RequestKind::Prompts`].
    pub fn kind(self) -> RequestKind {
        match self {
            Self::CallTool
            | Self::GetTask
            | Self::UpdateTask
            | Self::CancelTask
            | Self::GetTaskResult
            | Self::ListTasks => RequestKind::Tools,
            Self::GetPrompt => RequestKind::Prompts,
            Self::ReadResource | Self::SubscribeToResource | Self::Complete => {
                RequestKind::Resources
            }
            Self::CreateMessage => RequestKind::Sampling,
            Self::Elicit => RequestKind::Elicitation,
            Self::ListRoots => RequestKind::Roots,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::GuardedMethod;

    #[test]
    fn the_name_of_a_method_is_its_name_in_json() {
        for method in GuardedMethod::ALL {
            assert_eq!(serde_json::to_value(method).expect("a name"), method.name());
        }
    }
}
