//! The client programs: how each program lists its servers, and which settings make it use the
//! stand-in for a model. Also the programs that cannot run in this test, with the reasons.
//!
//! `{home}`, `{config}`, `{project}` and `{model}` stand for the home folder, the folder of
//! settings (`XDG_CONFIG_HOME`), the folder in which the program works, and the address of the
//! model.

/// A program that runs against Drawbridge.
pub(crate) struct Program {
    /// The client's id in Drawbridge.
    pub(crate) client: &'static str,
    pub(crate) title: &'static str,
    pub(crate) package: &'static str,
    /// The paths and texts of the files that exist before the client is connected. Drawbridge
    /// changes some of them.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// A command that has to run before the client is connected.
    pub(crate) setup: Option<&'static [&'static str]>,
    pub(crate) listing: Option<Listing>,
    /// A note on the listing, or the reason why there is no listing.
    pub(crate) listing_note: &'static str,
    pub(crate) conversation: Option<Conversation>,
    /// The reason why there is no conversation.
    pub(crate) conversation_note: &'static str,
}

/// The program's own command that lists its servers.
pub(crate) struct Listing {
    pub(crate) command: &'static [&'static str],
    /// A text that the output contains.
    pub(crate) expected: &'static str,
    /// Whether the command connects to the servers, instead of only reading the file.
    pub(crate) connects: bool,
}

/// A command that sends one prompt to the model, and runs the tool that the model calls.
pub(crate) struct Conversation {
    pub(crate) command: &'static [&'static str],
    pub(crate) variables: &'static [(&'static str, &'static str)],
}

/// A program that cannot run in this test, or several that cannot run for the same reason.
pub(crate) struct MissingProgram {
    /// The ids of the clients in Drawbridge, separated by `, `.
    pub(crate) client: &'static str,
    pub(crate) title: &'static str,
    pub(crate) reason: &'static str,
}

impl Program {
    const fn new(client: &'static str, title: &'static str, package: &'static str) -> Self {
        Self {
            client,
            title,
            package,
            files: &[],
            setup: None,
            listing: None,
            listing_note: "",
            conversation: None,
            conversation_note: "",
        }
    }
}

pub(crate) const PROMPT: &str = "Use the tool.";

const OPENCODE_SETTINGS: &str = r#"{
  // The model of this test.
  "provider": {
    "stand-in": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "{model}/v1", "apiKey": "none" },
      "models": { "model": { "tool_call": true } },
    },
  },
}
"#;

const READS_FILE: &str = "The command reads the file, and does not connect.";

pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        files: &[("{home}/.claude.json", "{\n  \"theme\": \"dark\"\n}\n")],
        listing: Some(Listing {
            command: &["claude", "mcp", "list"],
            expected: "Connected",
            connects: true,
        }),
        conversation: Some(Conversation {
            command: &["claude", "--print", PROMPT],
            variables: &[
                ("ANTHROPIC_BASE_URL", "{model}"),
                ("ANTHROPIC_API_KEY", "none"),
            ],
        }),
        ..Program::new("claude-code", "Claude Code", "@anthropic-ai/claude-code")
    },
    Program {
        files: &[(
            "{home}/.codex/config.toml",
            "# The model of this test.\nmodel = \"model\"\nmodel_provider = \"stand-in\"\n\n\
             [model_providers.stand-in]\nname = \"Stand-in\"\nbase_url = \"{model}/v1\"\n\
             wire_api = \"responses\"\n",
        )],
        listing: Some(Listing {
            command: &["codex", "mcp", "list"],
            expected: "enabled",
            connects: false,
        }),
        listing_note: READS_FILE,
        conversation: Some(Conversation {
            command: &["codex", "exec", "--skip-git-repo-check", PROMPT],
            variables: &[],
        }),
        ..Program::new("codex", "Codex", "@openai/codex")
    },
    Program {
        files: &[
            (
                "{home}/.gemini/settings.json",
                "{\n  // The account of this test.\n  \"security\": {\n    \"auth\": { \"selectedType\": \"gemini-api-key\" }\n  }\n}\n",
            ),
            (
                "{home}/.gemini/trustedFolders.json",
                "{\n  \"{project}\": \"TRUST_FOLDER\"\n}\n",
            ),
        ],
        listing: Some(Listing {
            command: &["gemini", "mcp", "list"],
            expected: "Connected",
            connects: true,
        }),
        listing_note: "In a folder that the user does not trust, Gemini CLI disables all servers.",
        conversation: Some(Conversation {
            command: &["gemini", "--model", "model", "--prompt", PROMPT],
            variables: &[
                ("GOOGLE_GEMINI_BASE_URL", "{model}"),
                ("GEMINI_API_KEY", "none"),
            ],
        }),
        ..Program::new("gemini-cli", "Gemini CLI", "@google/gemini-cli")
    },
    Program {
        files: &[(
            "{home}/.qwen/settings.json",
            "{\n  // The account of this test.\n  \"security\": {\n    \"auth\": { \"selectedType\": \"openai\" }\n  }\n}\n",
        )],
        listing: Some(Listing {
            command: &["qwen", "mcp", "list"],
            expected: "Connected",
            connects: true,
        }),
        conversation: Some(Conversation {
            command: &["qwen", "--prompt", PROMPT],
            variables: &[
                ("OPENAI_BASE_URL", "{model}/v1"),
                ("OPENAI_API_KEY", "none"),
                ("OPENAI_MODEL", "model"),
            ],
        }),
        ..Program::new("qwen-code", "Qwen Code", "@qwen-code/qwen-code")
    },
    Program {
        files: &[("{config}/opencode/opencode.jsonc", OPENCODE_SETTINGS)],
        listing: Some(Listing {
            command: &["opencode", "mcp", "list"],
            expected: "connected",
            connects: true,
        }),
        conversation: Some(Conversation {
            command: &["opencode", "run", "--model", "stand-in/model", PROMPT],
            variables: &[],
        }),
        ..Program::new("opencode", "opencode", "opencode-ai")
    },
    Program {
        files: &[("{config}/kilo/kilo.jsonc", OPENCODE_SETTINGS)],
        listing: Some(Listing {
            command: &["kilo", "mcp", "list"],
            expected: "connected",
            connects: true,
        }),
        conversation: Some(Conversation {
            command: &["kilo", "run", "--model", "stand-in/model", PROMPT],
            variables: &[],
        }),
        ..Program::new("kilo-code", "Kilo Code", "@kilocode/cli")
    },
    Program {
        listing: Some(Listing {
            command: &["copilot", "mcp", "list"],
            expected: "drawbridge (local)",
            connects: false,
        }),
        listing_note: READS_FILE,
        conversation: Some(Conversation {
            command: &["copilot", "--allow-tool", "drawbridge", "--prompt", PROMPT],
            variables: &[
                ("COPILOT_PROVIDER_BASE_URL", "{model}/v1"),
                ("COPILOT_MODEL", "model"),
            ],
        }),
        ..Program::new("copilot-cli", "Copilot CLI", "@github/copilot")
    },
    Program {
        files: &[(
            "{home}/.continue/config.yaml",
            "# The model of this test.\nname: Test\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: model\n    \
             provider: openai\n    model: model\n    apiBase: {model}/v1\n    apiKey: none\n    \
             capabilities: [tool_use]\n",
        )],
        listing_note: "The program has no command that lists servers.",
        conversation: Some(Conversation {
            command: &["cn", "--print", PROMPT],
            variables: &[],
        }),
        ..Program::new("continue", "Continue", "@continuedev/cli")
    },
    Program {
        setup: Some(&[
            "cline",
            "auth",
            "--provider",
            "openai",
            "--apikey",
            "none",
            "--modelid",
            "model",
            "--baseurl",
            "{model}/v1",
        ]),
        listing_note: "The program has no command that lists servers.",
        conversation: Some(Conversation {
            command: &["cline", "--provider", "openai", "--model", "model", PROMPT],
            variables: &[],
        }),
        ..Program::new("cline", "Cline", "cline")
    },
    Program {
        files: &[(
            "{home}/.factory/settings.json",
            "{\n  \"customModels\": [\n    {\n      \"model\": \"model\",\n      \"displayName\": \"model\",\n      \
             \"baseUrl\": \"{model}/v1\",\n      \"apiKey\": \"none\",\n      \
             \"provider\": \"generic-chat-completion-api\",\n      \"maxOutputTokens\": 1000\n    }\n  ]\n}\n",
        )],
        listing: Some(Listing {
            command: &["droid", "mcp", "list"],
            expected: "connected",
            connects: true,
        }),
        conversation: Some(Conversation {
            command: &[
                "droid",
                "exec",
                "--auto",
                "high",
                // Without these arguments, the program may send the prompt before its servers have
                // answered.
                "--add-tools",
                "MCP:drawbridge",
                "--model",
                "custom:model",
                PROMPT,
            ],
            variables: &[],
        }),
        ..Program::new("factory-droid", "Factory Droid", "droid")
    },
    Program {
        files: &[(
            "{home}/.kimi-code/config.toml",
            "default_model = \"model\"\n\n[providers.stand-in]\ntype = \"openai\"\nbase_url = \"{model}/v1\"\n\
             api_key = \"none\"\n\n[models.model]\nprovider = \"stand-in\"\nmodel = \"model\"\n\
             max_context_size = 200000\ncapabilities = [\"tool_use\"]\n",
        )],
        listing_note: "The program has no command that lists servers.",
        conversation: Some(Conversation {
            command: &["kimi", "--prompt", PROMPT],
            variables: &[],
        }),
        ..Program::new("kimi", "Kimi", "@moonshot-ai/kimi-code")
    },
    Program {
        files: &[(
            "{config}/amp/settings.json",
            "{\n  // Not on this computer.\n  \"amp.notifications.enabled\": false\n}\n",
        )],
        listing: Some(Listing {
            command: &["amp", "mcp", "list"],
            expected: "drawbridge",
            connects: false,
        }),
        listing_note: READS_FILE,
        conversation_note: "Amp needs an account, and uses only its own models.",
        ..Program::new("amp", "Amp", "@ampcode/cli")
    },
    Program {
        files: &[("{home}/.cursor/mcp.json", "{\n  \"mcpServers\": {}\n}\n")],
        listing: Some(Listing {
            command: &[
                "mcp-inspector",
                "--cli",
                "--config",
                "{home}/.cursor/mcp.json",
                "--server",
                "drawbridge",
                "--method",
                "tools/list",
            ],
            expected: "everything__echo",
            connects: true,
        }),
        listing_note: "The MCP Inspector reads Cursor's file.",
        conversation_note: "The Inspector uses no model.",
        ..Program::new("cursor", "MCP Inspector", "@modelcontextprotocol/inspector")
    },
];

pub(crate) const MISSING_PROGRAMS: &[MissingProgram] = &[
    MissingProgram {
        client: "crush",
        title: "Crush",
        reason: "its npm package does not contain the program, but downloads it from GitHub",
    },
    MissingProgram {
        client: "goose",
        title: "Goose",
        reason: "no npm package; its installer downloads the program from GitHub",
    },
    MissingProgram {
        client: "mistral-vibe",
        title: "Mistral Vibe",
        reason: "a Python package; `cargo xtask clients` installs npm packages only",
    },
    MissingProgram {
        client: "claude-desktop, cursor, vscode, windsurf, zed, lm-studio",
        title: "Claude Desktop, Cursor, VS Code, Windsurf, Zed, LM Studio",
        reason: "desktop apps. The MCP Inspector is tested with Cursor's file instead of Cursor",
    },
    MissingProgram {
        client: "roo-code",
        title: "Roo Code",
        reason: "an extension of VS Code",
    },
];
