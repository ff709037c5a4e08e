//! The table of clients, one row each, from which the table in `docs/clients.md` is generated.
//!
//! The places, members and limits are from the documentation of the vendors, or from public
//! programs that write these files.

use std::{
    collections::BTreeMap,
    iter,
    path::{Path, PathBuf},
};

use crate::{
    client::{
        Client, LinkForm, MemberValue,
        Systems::{Any, Linux, MacOs, Unix, Windows},
        ToolAllowList, shape,
    },
    format::Format,
    machine::Machine,
};

const ASK_IN_WINDOW: &str = "To be asked only by Drawbridge, allow the server 'drawbridge' in this client's own window when the client asks for the first time.";
const RESTART: &str = "Restart the client after a change.";

const CLAUDE_SETTINGS: ToolAllowList = ToolAllowList {
    place: "`settings.json` in `~/.claude` or the profile's folder; `.claude/settings.local.json` for a project",
    file: claude_settings,
    path: &["permissions", "allow"],
    element: "mcp__drawbridge",
};

const CURSOR_PERMISSIONS: ToolAllowList = ToolAllowList {
    place: "`permissions.json` in the same folder",
    file: cursor_permissions,
    path: &["mcpAllowlist"],
    element: "drawbridge:*",
};

/// The clients that Drawbridge can connect, roughly by popularity, and then `standard`, which
/// stands for any other client.
pub const CLIENTS: &[Client] = &[
    Client {
        install_paths: &[
            "<config>/Claude",
            "<local>/Packages/Claude_*",
            "/Applications/Claude.app",
        ],
        files: &[
            (
                Windows,
                "<local>/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
            ),
            (Any, "<config>/Claude/claude_desktop_config.json"),
        ],
        http: None,
        notes: &[
            RESTART,
            ASK_IN_WINDOW,
            "Claude Desktop writes this file itself, and may drop the servers in it.",
        ],
        ..Client::new("claude-desktop", "Claude Desktop")
    },
    Client {
        install_paths: &["~/.claude", "~/.claude.json"],
        programs: &["claude"],
        overrides: &["$CLAUDE_CONFIG_DIR/.claude.json"],
        files: &[(Any, "~/.claude.json")],
        profiles: &["~/.claude.json", "~/.claude-*/.claude.json"],
        project: &[".mcp.json"],
        bridge: shape::stdio_command,
        http: Some(shape::http_url),
        tool_allow_list: Some(CLAUDE_SETTINGS),
        ..Client::new("claude-code", "Claude Code")
    },
    Client {
        install_paths: &["~/.cursor", "/Applications/Cursor.app"],
        programs: &["cursor", "cursor-agent"],
        files: &[(Any, "~/.cursor/mcp.json")],
        project: &[".cursor/mcp.json"],
        tool_allow_list: Some(CURSOR_PERMISSIONS),
        link: Some(LinkForm::Cursor),
        notes: &[
            "Cursor uses the list in `permissions.json` in place of the list of allowed tools in its own settings.",
        ],
        ..Client::new("cursor", "Cursor")
    },
    Client {
        install_paths: &["<config>/Code", "/Applications/Visual Studio Code.app"],
        programs: &["code"],
        files: &[(Any, "<config>/Code/User/mcp.json")],
        profiles: &["<config>/Code/User/profiles/*/mcp.json"],
        link: Some(LinkForm::VsCode),
        ..vs_code("vscode", "VS Code")
    },
    Client {
        install_paths: &["<config>/Code - Insiders"],
        programs: &["code-insiders"],
        files: &[(Any, "<config>/Code - Insiders/User/mcp.json")],
        profiles: &["<config>/Code - Insiders/User/profiles/*/mcp.json"],
        link: Some(LinkForm::VsCodeInsiders),
        ..vs_code("vscode-insiders", "VS Code Insiders")
    },
    Client {
        install_paths: &["~/.copilot"],
        programs: &["copilot"],
        overrides: &["$COPILOT_HOME/mcp-config.json"],
        files: &[(Any, "~/.copilot/mcp-config.json")],
        project: &[".mcp.json"],
        bridge: shape::command_with_tools,
        http: Some(shape::http_url_with_tools),
        notes: &[
            "To be asked only by Drawbridge, start Copilot CLI with `--allow-tool drawbridge`.",
        ],
        ..Client::new("copilot-cli", "Copilot CLI")
    },
    Client {
        install_paths: &["~/.codeium/windsurf", "/Applications/Windsurf.app"],
        programs: &["windsurf"],
        files: &[(Any, "~/.codeium/windsurf/mcp_config.json")],
        http: Some(shape::server_url),
        notes: &[ASK_IN_WINDOW],
        ..Client::new("windsurf", "Windsurf")
    },
    Client {
        install_paths: &["~/.codeium/mcp_config.json"],
        files: &[(Any, "~/.codeium/mcp_config.json")],
        http: Some(shape::server_url),
        notes: &[ASK_IN_WINDOW],
        ..Client::new("windsurf-jetbrains", "Windsurf plugin for JetBrains IDEs")
    },
    Client {
        install_paths: &["~/.config/devin", "<config>/devin"],
        programs: &["devin"],
        files: &[
            (Windows, "<config>/devin/mcp_config.json"),
            (Unix, "~/.config/devin/mcp_config.json"),
        ],
        http: Some(shape::http_url),
        ..Client::new("devin-cli", "Devin CLI")
    },
    Client {
        install_paths: &["~/.lmstudio"],
        programs: &["lms"],
        files: &[(Any, "~/.lmstudio/mcp.json")],
        link: Some(LinkForm::LmStudio),
        notes: &[ASK_IN_WINDOW],
        ..Client::new("lm-studio", "LM Studio")
    },
    Client {
        install_paths: &["~/.gemini/settings.json"],
        programs: &["gemini"],
        overrides: &["$GEMINI_CLI_HOME/.gemini/settings.json"],
        files: &[(Any, "~/.gemini/settings.json")],
        project: &[".gemini/settings.json"],
        http: Some(shape::http_url_member),
        ask_once_members: &[
            ("trust", MemberValue::True),
            ("timeout", MemberValue::WaitMilliseconds),
        ],
        ..Client::new("gemini-cli", "Gemini CLI")
    },
    Client {
        install_paths: &[
            "~/.gemini/config",
            "~/.gemini/antigravity",
            "~/.gemini/antigravity-ide",
        ],
        programs: &["antigravity"],
        files: &[
            (Any, "~/.gemini/config/mcp_config.json"),
            (Any, "~/.gemini/antigravity-ide/mcp_config.json"),
            (Any, "~/.gemini/antigravity/mcp_config.json"),
        ],
        http: Some(shape::server_url),
        notes: &[ASK_IN_WINDOW],
        ..Client::new("antigravity", "Antigravity")
    },
    Client {
        install_paths: &["~/.qwen"],
        programs: &["qwen"],
        overrides: &["$QWEN_HOME/settings.json"],
        files: &[(Any, "~/.qwen/settings.json")],
        project: &[".qwen/settings.json"],
        http: Some(shape::http_url_member),
        ask_once_members: &[
            ("trust", MemberValue::True),
            ("timeout", MemberValue::WaitMilliseconds),
        ],
        ..Client::new("qwen-code", "Qwen Code")
    },
    Client {
        format: Format::Toml,
        container: &["mcp_servers"],
        install_paths: &["~/.codex"],
        programs: &["codex"],
        overrides: &["$CODEX_HOME/config.toml"],
        files: &[(Any, "~/.codex/config.toml")],
        project: &[".codex/config.toml"],
        http: Some(shape::toml_url),
        ask_once_members: &[
            ("default_tools_approval_mode", MemberValue::Text("approve")),
            (
                "tool_timeout_sec",
                MemberValue::WaitSeconds { max: u64::MAX },
            ),
        ],
        notes: &["Codex reads a project's file only in trusted projects."],
        ..Client::new("codex", "Codex")
    },
    Client {
        container: &["context_servers"],
        install_paths: &["<xdg>/zed", "<config>/Zed", "/Applications/Zed.app"],
        programs: &["zed", "zeditor"],
        files: &[
            (Windows, "<config>/Zed/settings.json"),
            (Unix, "<xdg>/zed/settings.json"),
        ],
        project: &[".zed/settings.json"],
        bridge: shape::custom_command,
        notes: &[ASK_IN_WINDOW],
        ..Client::new("zed", "Zed")
    },
    Client {
        container: &["mcp"],
        install_paths: &["<xdg>/opencode"],
        programs: &["opencode"],
        files: &[
            (Any, "<xdg>/opencode/opencode.jsonc"),
            (Any, "<xdg>/opencode/opencode.json"),
        ],
        project: &["opencode.jsonc", "opencode.json"],
        reads_only_one_file: true,
        bridge: shape::command_list,
        http: Some(shape::remote),
        tool_prefix: "drawbridge_",
        notes: &["opencode does not ask about tools, unless its settings say so."],
        ..Client::new("opencode", "opencode")
    },
    Client {
        container: &["mcp"],
        install_paths: &["<xdg>/kilo"],
        programs: &["kilo"],
        files: &[(Any, "<xdg>/kilo/kilo.jsonc")],
        bridge: shape::command_list,
        http: Some(shape::remote),
        ..Client::new("kilo-code", "Kilo Code")
    },
    Client {
        install_paths: &[
            "<config>/Code/User/globalStorage/saoudrizwan.claude-dev",
            "~/.cline",
        ],
        programs: &["cline"],
        overrides: &[
            "$CLINE_MCP_SETTINGS_PATH",
            "$CLINE_DIR/data/settings/cline_mcp_settings.json",
        ],
        files: &[
            (Any, "~/.cline/data/settings/cline_mcp_settings.json"),
            (
                Any,
                "<config>/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
        ],
        http: Some(shape::camel_case_type),
        ask_once_members: &[
            ("autoApprove", MemberValue::ToolNames),
            ("timeout", MemberValue::WaitSeconds { max: 3_600 }),
        ],
        ..Client::new("cline", "Cline")
    },
    Client {
        install_paths: &["<config>/Code/User/globalStorage/rooveterinaryinc.roo-cline"],
        files: &[(
            Any,
            "<config>/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        )],
        project: &[".roo/mcp.json"],
        http: Some(shape::kebab_case_type),
        ask_once_members: &[
            ("alwaysAllow", MemberValue::ToolNames),
            ("timeout", MemberValue::WaitSeconds { max: 3_600 }),
        ],
        ..Client::new("roo-code", "Roo Code")
    },
    Client {
        format: Format::Yaml,
        is_list: true,
        install_paths: &["~/.continue"],
        programs: &["cn"],
        files: &[(Any, "~/.continue/config.yaml")],
        // Continue does not start if the file lacks these members.
        new_file: "name: Local Config\nversion: 1.0.0\nschema: v1\n",
        bridge: shape::named_command,
        http: Some(shape::named_url),
        notes: &[
            "Continue uses MCP servers in agent mode only.",
            ASK_IN_WINDOW,
        ],
        ..Client::new("continue", "Continue")
    },
    Client {
        format: Format::Yaml,
        container: &["extensions"],
        install_paths: &[
            "~/.config/goose",
            "<config>/Block/goose",
            "/Applications/Goose.app",
        ],
        programs: &["goose"],
        overrides: &["$GOOSE_PATH_ROOT/config/config.yaml"],
        files: &[
            (Windows, "<config>/Block/goose/config/config.yaml"),
            (Linux, "<xdg>/goose/config.yaml"),
            (MacOs, "~/.config/goose/config.yaml"),
            (MacOs, "<config>/Block/goose/config.yaml"),
        ],
        bridge: shape::goose_command,
        http: Some(shape::goose_uri),
        ask_once_members: &[("timeout", MemberValue::WaitSeconds { max: 3_600 })],
        tool_prefix: "drawbridge__",
        link: Some(LinkForm::Goose),
        notes: &[ASK_IN_WINDOW],
        ..Client::new("goose", "Goose")
    },
    Client {
        install_paths: &["~/.ai/mcp", "<config>/JetBrains"],
        files: &[(Any, "~/.ai/mcp/mcp.json")],
        project: &[".ai/mcp/mcp.json"],
        notes: &[
            "AI Assistant 2025.3 and later read this file. In earlier versions, paste the entry in Settings, Tools, AI Assistant, Model Context Protocol.",
            ASK_IN_WINDOW,
        ],
        ..Client::new("jetbrains-ai", "JetBrains AI Assistant")
    },
    Client {
        install_paths: &["~/.junie"],
        programs: &["junie"],
        files: &[(Any, "~/.junie/mcp/mcp.json")],
        project: &[".junie/mcp/mcp.json"],
        notes: &[ASK_IN_WINDOW],
        ..Client::new("junie", "JetBrains Junie")
    },
    Client {
        container: &["amp.mcpServers"],
        install_paths: &["<xdg>/amp", "<config>/amp"],
        programs: &["amp"],
        overrides: &["$AMP_SETTINGS_FILE"],
        files: &[
            (Any, "<xdg>/amp/settings.json"),
            (Windows, "<config>/amp/settings.json"),
        ],
        ..Client::new("amp", "Amp")
    },
    Client {
        install_paths: &["~/.kiro"],
        programs: &["kiro", "kiro-cli"],
        files: &[(Any, "~/.kiro/settings/mcp.json")],
        project: &[".kiro/settings/mcp.json"],
        ask_once_members: &[("autoApprove", MemberValue::ToolNames)],
        link: Some(LinkForm::Kiro),
        ..Client::new("kiro", "Kiro")
    },
    Client {
        install_paths: &["~/.warp"],
        programs: &["warp-terminal", "warp"],
        files: &[(Any, "~/.warp/.mcp.json")],
        notes: &[ASK_IN_WINDOW],
        ..Client::new("warp", "Warp")
    },
    Client {
        install_paths: &["~/.aws/amazonq"],
        programs: &["q"],
        files: &[(Any, "~/.aws/amazonq/mcp.json")],
        http: Some(shape::http_url),
        ask_once_members: &[("timeout", MemberValue::WaitMilliseconds)],
        notes: &[ASK_IN_WINDOW],
        ..Client::new("amazon-q", "Amazon Q")
    },
    Client {
        container: &["mcp"],
        install_paths: &["<xdg>/crush"],
        programs: &["crush"],
        overrides: &["$CRUSH_GLOBAL_CONFIG/crush.json"],
        files: &[
            (Any, "<xdg>/crush/crush.json"),
            (Windows, "<local>/crush/crush.json"),
        ],
        project: &[".crush.json", "crush.json"],
        reads_only_one_file: true,
        bridge: shape::stdio_command,
        http: Some(shape::http_url),
        ask_once_members: &[("timeout", MemberValue::WaitSeconds { max: 3_600 })],
        tool_prefix: "mcp_drawbridge_",
        notes: &[ASK_IN_WINDOW],
        ..Client::new("crush", "Crush")
    },
    Client {
        install_paths: &["~/.factory"],
        programs: &["droid"],
        files: &[(Any, "~/.factory/mcp.json")],
        bridge: shape::stdio_command,
        http: Some(shape::http_url),
        notes: &[ASK_IN_WINDOW],
        ..Client::new("factory-droid", "Factory Droid")
    },
    Client {
        install_paths: &["~/.kimi-code", "~/.kimi"],
        programs: &["kimi"],
        overrides: &["$KIMI_CODE_HOME/mcp.json"],
        files: &[(Any, "~/.kimi-code/mcp.json"), (Any, "~/.kimi/mcp.json")],
        ..Client::new("kimi", "Kimi")
    },
    Client {
        format: Format::Toml,
        container: &["mcp_servers"],
        install_paths: &["~/.grok"],
        programs: &["grok"],
        overrides: &["$GROK_HOME/config.toml"],
        files: &[(Any, "~/.grok/config.toml")],
        http: Some(shape::toml_url),
        ..Client::new("grok-build", "Grok Build")
    },
    Client {
        format: Format::Toml,
        container: &["mcp_servers"],
        is_list: true,
        install_paths: &["~/.vibe"],
        programs: &["vibe"],
        files: &[(Any, "~/.vibe/config.toml")],
        bridge: shape::vibe_command,
        http: Some(shape::vibe_url),
        ..Client::new("mistral-vibe", "Mistral Vibe")
    },
    Client {
        install_paths: &["<config>/Trae"],
        programs: &["trae"],
        files: &[(Any, "<config>/Trae/User/mcp.json")],
        notes: &[ASK_IN_WINDOW],
        ..Client::new("trae", "Trae")
    },
    Client {
        install_paths: &["<data>/Jan"],
        files: &[(Any, "<data>/Jan/data/mcp_config.json")],
        http: None,
        notes: &[ASK_IN_WINDOW],
        ..Client::new("jan", "Jan")
    },
    Client {
        install_paths: &["~/.boltai"],
        files: &[(Any, "~/.boltai/mcp.json")],
        http: None,
        ..Client::new("boltai", "BoltAI")
    },
    Client {
        install_paths: &["~/.pi/agent"],
        programs: &["pi"],
        files: &[(Any, "~/.pi/agent/mcp.json")],
        ..Client::new("pi", "Pi")
    },
    Client {
        install_paths: &["~/.omp/agent"],
        programs: &["omp"],
        files: &[(Any, "~/.omp/agent/mcp.json")],
        ..Client::new("oh-my-pi", "Oh My Pi")
    },
    Client {
        install_paths: &["<config>/anythingllm-desktop"],
        files: &[(
            Any,
            "<config>/anythingllm-desktop/storage/plugins/anythingllm_mcp_servers.json",
        )],
        http: None,
        ..Client::new("anythingllm", "AnythingLLM")
    },
    Client {
        bridge: shape::command,
        http: Some(shape::http_url),
        notes: &["Most clients read this notation. Paste it into the client's settings."],
        ..Client::new("standard", "Any other client")
    },
];

/// Returns the client with an id.
pub fn find_client(id: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.id == id)
}

const fn vs_code(id: &'static str, name: &'static str) -> Client {
    Client {
        container: &["servers"],
        project: &[".vscode/mcp.json"],
        bridge: shape::stdio_command,
        http: Some(shape::http_url),
        tool_prefix: "mcp_drawbridge_",
        notes: &[
            "VS Code asks in its own window. To be asked only by Drawbridge, choose 'Always allow' for the server 'drawbridge' there.",
        ],
        ..Client::new(id, name)
    }
}

fn claude_settings(machine: &Machine, file: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(file);
    if file.file_name().is_some_and(|name| name == ".mcp.json") {
        folder.join(".claude/settings.local.json")
    } else if folder == machine.home {
        folder.join(".claude/settings.json")
    } else {
        folder.join("settings.json")
    }
}

fn cursor_permissions(_machine: &Machine, file: &Path) -> PathBuf {
    file.with_file_name("permissions.json")
}

impl Machine {
    /// Sets the variables whose names [`variable_names`] returns, and ignores the others.
    pub fn set_variables(&mut self, variables: &BTreeMap<String, String>) {
        for (name, value) in variables {
            if variable_names().any(|known| known == name) {
                self.env.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Returns the names of the variables that determine where clients are installed, and where they
/// keep their files.
pub fn variable_names() -> impl Iterator<Item = &'static str> {
    let overrides = CLIENTS.iter().flat_map(|client| client.overrides);
    let names = overrides.filter_map(|template| template.strip_prefix('$')?.split('/').next());
    let folders = [
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "APPDATA",
        "LOCALAPPDATA",
    ];
    iter::once("PATH").chain(folders).chain(names)
}

#[cfg(test)]
mod tests;
