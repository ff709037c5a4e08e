//! The servers: the start and the address of each server, and the requests whose answers are
//! compared.

use std::{fs, net::TcpStream, process::Command};

use drawbridge_tests::{
    Home, Hub, paths, ports::find_free_port, process::Process, wait::some_if, wait_until,
};

use crate::peer::Era;

/// A server, and the requests whose answers are compared.
pub(crate) struct Server {
    /// The name of the test.
    pub(crate) name: &'static str,
    /// The name of the program for the docs.
    pub(crate) title: Label,
    pub(crate) sdk: Label,
    pub(crate) transport: Transport,
    program: Program,
    /// The arguments. `{port}` stands for the port of the listener, `{folder}` for a private folder
    /// of the process.
    arguments: &'static [&'static str],
    /// The variables. A value may contain `{folder}`, too.
    environment: &'static [(&'static str, &'static str)],
    pub(crate) eras: &'static [Era],
    /// The number of its tools, prompts, resources and templates.
    pub(crate) definitions: usize,
    pub(crate) requests: &'static [TableRequest],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Sse,
    Http,
    StatelessHttp,
}

impl Transport {
    /// Returns the transport's name for the docs.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Sse => "HTTP+SSE",
            Self::Http => "streamable HTTP",
            Self::StatelessHttp => "streamable HTTP without sessions",
        }
    }

    /// Returns the path of the URL, and the transport's name on Drawbridge's command line.
    fn path_and_cli_name(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Stdio => None,
            Self::Sse => Some(("sse", "sse")),
            Self::Http | Self::StatelessHttp => Some(("mcp", "http")),
        }
    }
}

/// The file that starts a server.
enum Program {
    /// An environment of `tests/real/python`, and a script of `tests/real/foreign` for its
    /// interpreter.
    Python(&'static str, &'static str),
    /// A script of `tests/real/foreign` for the interpreter of the Python clients.
    NewestPython(&'static str),
    /// A script of `tests/real/foreign` for Node.
    Node(&'static str),
    /// A script of an npm package.
    Package(&'static str),
    /// A program for x86-64 in an npm package.
    Binary(&'static str),
    /// An environment of `tests/real/python`, and a program in it.
    Installed(&'static str, &'static str),
    /// A program of the environment of the Python clients.
    NewestInstalled(&'static str),
}

/// Text for the docs.
#[derive(Clone, Copy)]
pub(crate) enum Label {
    Plain(&'static str),
    /// An npm package, to which its pinned version is added.
    Npm(&'static str),
    /// A Python package: the requirements file and the name.
    Pip(&'static str, &'static str),
}

impl Label {
    pub(crate) fn text(self) -> String {
        match self {
            Self::Plain(text) => text.to_owned(),
            Self::Npm(package) => format!("`{package}` {}", paths::npm_version(package)),
            Self::Pip(file, package) => {
                format!("`{package}` {}", paths::pip_version(file, package))
            }
        }
    }
}

/// A request of [`ALL`], the table of servers.
#[derive(Debug)]
pub(crate) struct TableRequest {
    pub(crate) method: &'static str,
    /// The JSON text of the params.
    pub(crate) params: &'static str,
    name: &'static str,
}

impl TableRequest {
    /// Returns the tool, prompt or resource of the request, if there is one.
    pub(crate) fn name(&self) -> Option<&'static str> {
        Some(self.name).filter(|name| !name.is_empty())
    }

    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.method, self.params)
    }
}

/// Returns a request whose params are `{"KEY":"NAME",MEMBERS}`.
macro_rules! request {
    ($method:literal, $key:literal, $name:literal $(, $members:literal)?) => {
        TableRequest { method: $method, name: $name, params: concat!("{\"", $key, "\":\"", $name, "\"" $(, ",", $members)?, "}") }
    };
}

macro_rules! call {
    ($tool:literal, $arguments:literal) => {
        request!("tools/call", "name", $tool, $arguments)
    };
}

macro_rules! read {
    ($uri:literal) => {
        request!("resources/read", "uri", $uri)
    };
}

macro_rules! prompt {
    ($name:literal, $arguments:literal) => {
        request!("prompts/get", "name", $name, $arguments)
    };
}

/// A started server. A stdio server has neither a URL nor a process, because the client starts the
/// program.
pub(crate) struct Running {
    pub(crate) url: Option<String>,
    _process: Option<Process>,
}

impl Server {
    /// Returns the id in the hub.
    pub(crate) fn id(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Returns whether there is a build of the program for this machine.
    pub(crate) fn is_available(&self) -> bool {
        !matches!(self.program, Program::Binary(_)) || cfg!(target_arch = "x86_64")
    }

    fn command_line(&self, home: &Home, folder_name: &str, port: Option<u16>) -> Vec<String> {
        let script =
            |name: &str| paths::path_text(paths::pinned_packages_dir().join("foreign").join(name));
        let mut command_line = match self.program {
            Program::Python(environment, file) => {
                vec![
                    paths::path_text(paths::python_env_program(environment, "python")),
                    script(file),
                ]
            }
            Program::NewestPython(file) => {
                vec![paths::path_text(paths::python_program()), script(file)]
            }
            Program::Node(file) => vec![paths::path_text(paths::node_program()), script(file)],
            Program::Package(file) => vec![
                paths::path_text(paths::node_program()),
                paths::path_text(paths::npm_file(file)),
            ],
            Program::Binary(file) => vec![paths::path_text(paths::npm_file(file))],
            Program::Installed(environment, name) => {
                vec![paths::path_text(paths::python_env_program(
                    environment,
                    name,
                ))]
            }
            Program::NewestInstalled(name) => {
                vec![paths::path_text(
                    paths::python_program().with_file_name(name),
                )]
            }
        };
        command_line.extend(
            self.arguments
                .iter()
                .map(|argument| fill_placeholders(argument, home, folder_name, port)),
        );
        command_line
    }

    fn environment_variables(&self, home: &Home, folder_name: &str) -> Vec<String> {
        self.environment
            .iter()
            .map(|(name, value)| {
                format!(
                    "{name}={}",
                    fill_placeholders(value, home, folder_name, None)
                )
            })
            .collect()
    }

    /// Returns the command that starts the server.
    pub(crate) fn command(&self, home: &Home, folder_name: &str, port: Option<u16>) -> Command {
        let command_line = self.command_line(home, folder_name, port);
        let mut command = home.command(&command_line[0]);
        let variables = self.environment_variables(home, folder_name);
        command.args(&command_line[1..]).envs(
            variables
                .iter()
                .filter_map(|variable| variable.split_once('=')),
        );
        command
    }

    /// Starts the server if it uses HTTP, and waits until it listens.
    #[track_caller]
    pub(crate) fn start(&self, home: &Home) -> Running {
        let Some((path, _)) = self.transport.path_and_cli_name() else {
            return Running {
                url: None,
                _process: None,
            };
        };
        let port = find_free_port();
        let mut process = Process::start(
            home,
            self.name,
            &mut self.command(home, "listening", Some(port)),
        );
        wait_until(format!("{} listens", self.name), || {
            assert!(
                process.exit_status().is_none(),
                "{} exited before it listened:\n{}",
                self.name,
                process.stderr()
            );
            some_if(TcpStream::connect(("127.0.0.1", port)).is_ok())
        });
        Running {
            url: Some(format!("http://127.0.0.1:{port}/{path}")),
            _process: Some(process),
        }
    }

    /// Adds the server through the command line, and allows its tools.
    #[track_caller]
    pub(crate) fn add(&self, hub: &Hub<'_>, running: &Running) {
        let id = self.id();
        if let (Some(url), Some((_, transport))) =
            (&running.url, self.transport.path_and_cli_name())
        {
            hub.home
                .cli(&[
                    "servers",
                    "add",
                    &id,
                    "--url",
                    url,
                    "--transport",
                    transport,
                ])
                .expect_success();
        } else {
            let command_line = self.command_line(hub.home, "through", None);
            let variables = self.environment_variables(hub.home, "through");
            let options: Vec<&str> = variables
                .iter()
                .flat_map(|variable| ["--env", variable])
                .collect();
            hub.add_server(
                &id,
                &options,
                &command_line.iter().map(String::as_str).collect::<Vec<_>>(),
            );
        }
        hub.set_policy(&id, "allow");
    }
}

fn fill_placeholders(text: &str, home: &Home, folder_name: &str, port: Option<u16>) -> String {
    if text.contains("{folder}") {
        let folder = home.file(folder_name);
        fs::create_dir_all(&folder)
            .unwrap_or_else(|e| panic!("cannot create {}: {e}", folder.display()));
        return text.replace("{folder}", &paths::path_text(folder));
    }
    text.replace(
        "{port}",
        &port.map(|port| port.to_string()).unwrap_or_default(),
    )
}

const LEGACY: &[Era] = &[Era::Legacy];
const BOTH_ERAS: &[Era] = &[Era::Legacy, Era::Modern];

/// The requests for `decorated.py`.
const DECORATOR_REQUESTS: &[TableRequest] = &[
    call!("add", r#""arguments":{"a":1}"#),
    call!("add", r#""arguments":{"b":-3,"a":40}"#),
    call!("add", r#""arguments":{"a":"2"}"#),
    call!("add", r#""arguments":{"a":1,"b":null}"#),
    call!(
        "search",
        r#""arguments":{"filter":{"field":"a","limits":[-0.5,1e10],"order":"down"},"tags":["é"]}"#
    ),
    call!(
        "search",
        r#""arguments":{"filter":{"field":"b","range":null}}"#
    ),
    call!(
        "search",
        r#""arguments":{"filter":{"field":"c","range":{"low":-1}},"tags":[]}"#
    ),
    call!("report", r#""arguments":{"city":"日本 \"😀\" \u0001"}"#),
    call!(
        "coerced",
        r#""arguments":{"n":"3","on":"true","note":null}"#
    ),
    call!("coerced", r#""arguments":{"n":3.0,"on":false,"note":"x"}"#),
    call!("picture", r#""arguments":{}"#),
    call!("several", r#""arguments":{}"#),
    call!("fail", r#""arguments":{"reason":"so"}"#),
    read!("notes://today"),
    read!("notes://monday/evening"),
    prompt!("review", r#""arguments":{"code":"fn a() {}\n"}"#),
    prompt!("review", r#""arguments":{"code":"é","language":"C"}"#),
];

/// Returns a server of the legacy era that uses the decorators of an SDK, without arguments.
const fn decorator_server(
    name: &'static str,
    sdk: Label,
    transport: Transport,
    program: Program,
) -> Server {
    Server {
        name,
        title: Label::Plain("`decorated.py`"),
        sdk,
        transport,
        program,
        arguments: &[],
        environment: &[
            ("FASTMCP_SHOW_SERVER_BANNER", "false"),
            ("FASTMCP_CHECK_FOR_UPDATES", "off"),
        ],
        eras: LEGACY,
        definitions: 10,
        requests: DECORATOR_REQUESTS,
    }
}

const MCP_1_6: Label = Label::Pip("python/mcp-1.6.txt", "mcp");
const MCP_1_30: Label = Label::Pip("python/mcp-1.30.txt", "mcp");
const MCP_2: Label = Label::Pip("requirements.txt", "mcp");
const FASTMCP_2: Label = Label::Pip("python/fastmcp-2.txt", "fastmcp");
const FASTMCP_3: Label = Label::Pip("python/mcp-1.30.txt", "fastmcp");
const FASTMCP_4: Label = Label::Pip("python/fastmcp-4.txt", "fastmcp");

const TYPESCRIPT_1_REQUESTS: &[TableRequest] = &[
    call!(
        "shape",
        r#""arguments":{"shape":{"kind":"round","r":2.50},"labels":{"ß":[1,2]}}"#
    ),
    call!("shape", r#""arguments":{"shape":{"kind":"flat"}}"#),
    call!("shape", r#""arguments":{"shape":{"kind":"square"}}"#),
    call!("coerced", r#""arguments":{"n":"41"}"#),
    call!("link", r#""arguments":{}"#),
    call!("fail", r#""arguments":{}"#),
    read!("doc://listed"),
    read!("doc://part/b"),
    read!("other://unlisted"),
    prompt!("greet", r#""arguments":{"who":"Ada"}"#),
    prompt!("greet", r#""arguments":{}"#),
];

const fn typescript_1_server(
    name: &'static str,
    transport: Transport,
    arguments: &'static [&'static str],
) -> Server {
    Server {
        name,
        title: Label::Plain("`typescript1.mjs`"),
        sdk: Label::Npm("@modelcontextprotocol/sdk"),
        transport,
        program: Program::Node("typescript1.mjs"),
        arguments,
        environment: &[],
        eras: LEGACY,
        definitions: 8,
        requests: TYPESCRIPT_1_REQUESTS,
    }
}

const fn typescript_2_server(
    name: &'static str,
    transport: Transport,
    arguments: &'static [&'static str],
) -> Server {
    Server {
        name,
        title: Label::Plain("`typescript2.mjs`"),
        sdk: Label::Npm("@modelcontextprotocol/server"),
        transport,
        program: Program::Node("typescript2.mjs"),
        arguments,
        environment: &[],
        eras: BOTH_ERAS,
        definitions: 5,
        requests: &[
            call!("sum", r#""arguments":{"numbers":[0.1,2e2]}"#),
            call!("sum", r#""arguments":{"numbers":[1],"unit":"ft"}"#),
            call!("sum", r#""arguments":{"numbers":[]}"#),
            call!("link", r#""arguments":{}"#),
            call!("fail", r#""arguments":{}"#),
            read!("doc://one"),
            read!("other://unlisted"),
            prompt!("greet", r#""arguments":{"who":"Ada"}"#),
        ],
    }
}

const fn mcp_lite_server(
    name: &'static str,
    transport: Transport,
    arguments: &'static [&'static str],
) -> Server {
    Server {
        name,
        title: Label::Plain("`lite.mjs`"),
        sdk: Label::Npm("mcp-lite"),
        transport,
        program: Program::Node("lite.mjs"),
        arguments,
        environment: &[],
        eras: LEGACY,
        definitions: 6,
        requests: &[
            call!("echo", r#""arguments":{"value":[1.50,{"é":null}]}"#),
            call!("measure", r#""arguments":{"of":"urn:x"}"#),
            call!("fail", r#""arguments":{}"#),
            read!("file:///etc/motd"),
            read!("item://7"),
            prompt!("greet", r#""arguments":{"who":"Ada"}"#),
        ],
    }
}

pub(crate) const ALL: &[Server] = &[
    Server {
        arguments: &["sdk1", "stdio"],
        ..decorator_server(
            "python_sdk_1_6_over_stdio",
            MCP_1_6,
            Transport::Stdio,
            Program::Python("mcp-1.6", "decorated.py"),
        )
    },
    Server {
        arguments: &["sdk1", "sse", "{port}"],
        ..decorator_server(
            "python_sdk_1_6_over_sse",
            MCP_1_6,
            Transport::Sse,
            Program::Python("mcp-1.6", "decorated.py"),
        )
    },
    Server {
        arguments: &["sdk1", "stdio"],
        ..decorator_server(
            "python_sdk_1_30_over_stdio",
            MCP_1_30,
            Transport::Stdio,
            Program::Python("mcp-1.30", "decorated.py"),
        )
    },
    Server {
        arguments: &["sdk1", "http", "{port}"],
        ..decorator_server(
            "python_sdk_1_30_over_http",
            MCP_1_30,
            Transport::Http,
            Program::Python("mcp-1.30", "decorated.py"),
        )
    },
    Server {
        arguments: &["sdk1", "stateless", "{port}"],
        ..decorator_server(
            "python_sdk_1_30_over_stateless_http",
            MCP_1_30,
            Transport::StatelessHttp,
            Program::Python("mcp-1.30", "decorated.py"),
        )
    },
    Server {
        name: "python_sdk_1_30_in_pages",
        title: Label::Plain("`lowlevel.py`"),
        sdk: MCP_1_30,
        transport: Transport::Stdio,
        program: Program::Python("mcp-1.30", "lowlevel.py"),
        arguments: &[],
        environment: &[],
        eras: LEGACY,
        definitions: 14,
        requests: &[
            call!(
                "recursive",
                r#""arguments":{"root":{"next":{"next":{}}},"big":12345678901234567890}"#
            ),
            call!("no.properties/at-all", r#""arguments":{}"#),
            call!("any_of", r#""arguments":{"v":null}"#),
            call!("any_of", r#""arguments":{"v":"1"}"#),
            call!("links", r#""arguments":{}"#),
            call!("media", r#""arguments":{}"#),
            call!("wrong", r#""arguments":{}"#),
            call!("last", r#""arguments":{"x":[]}"#),
            read!("item:///1"),
            read!("item:///9"),
            read!("secret://not/listed"),
            prompt!("ask", r#""arguments":{"about":"ß"}"#),
        ],
    },
    Server {
        arguments: &["sdk2", "stdio"],
        eras: BOTH_ERAS,
        ..decorator_server(
            "python_sdk_2_over_stdio",
            MCP_2,
            Transport::Stdio,
            Program::NewestPython("decorated.py"),
        )
    },
    Server {
        arguments: &["sdk2", "http", "{port}"],
        eras: BOTH_ERAS,
        ..decorator_server(
            "python_sdk_2_over_http",
            MCP_2,
            Transport::Http,
            Program::NewestPython("decorated.py"),
        )
    },
    Server {
        arguments: &["fastmcp", "http", "{port}"],
        ..decorator_server(
            "fastmcp_2_over_http",
            FASTMCP_2,
            Transport::Http,
            Program::Python("fastmcp-2", "decorated.py"),
        )
    },
    Server {
        arguments: &["fastmcp", "stdio"],
        ..decorator_server(
            "fastmcp_3_over_stdio",
            FASTMCP_3,
            Transport::Stdio,
            Program::Python("mcp-1.30", "decorated.py"),
        )
    },
    Server {
        arguments: &["fastmcp", "stateless", "{port}"],
        ..decorator_server(
            "fastmcp_3_over_stateless_http",
            FASTMCP_3,
            Transport::StatelessHttp,
            Program::Python("mcp-1.30", "decorated.py"),
        )
    },
    Server {
        arguments: &["fastmcp", "stdio"],
        eras: BOTH_ERAS,
        ..decorator_server(
            "fastmcp_4_over_stdio",
            FASTMCP_4,
            Transport::Stdio,
            Program::Python("fastmcp-4", "decorated.py"),
        )
    },
    Server {
        arguments: &["fastmcp", "http", "{port}"],
        eras: BOTH_ERAS,
        ..decorator_server(
            "fastmcp_4_over_http",
            FASTMCP_4,
            Transport::Http,
            Program::Python("fastmcp-4", "decorated.py"),
        )
    },
    typescript_1_server("typescript_sdk_1_over_stdio", Transport::Stdio, &["stdio"]),
    typescript_1_server(
        "typescript_sdk_1_over_http",
        Transport::Http,
        &["http", "{port}"],
    ),
    typescript_1_server(
        "typescript_sdk_1_over_stateless_http",
        Transport::StatelessHttp,
        &["stateless", "{port}"],
    ),
    typescript_2_server("typescript_sdk_2_over_stdio", Transport::Stdio, &["stdio"]),
    typescript_2_server(
        "typescript_sdk_2_over_http",
        Transport::StatelessHttp,
        &["http", "{port}"],
    ),
    mcp_lite_server("mcp_lite_over_http", Transport::Http, &["http", "{port}"]),
    mcp_lite_server(
        "mcp_lite_over_stateless_http",
        Transport::StatelessHttp,
        &["stateless", "{port}"],
    ),
    Server {
        name: "server_memory",
        title: Label::Npm("@modelcontextprotocol/server-memory"),
        sdk: Label::Plain("TypeScript SDK 1.x"),
        transport: Transport::Stdio,
        program: Program::Package("@modelcontextprotocol/server-memory/dist/index.js"),
        arguments: &[],
        environment: &[("MEMORY_FILE_PATH", "{folder}/memory.json")],
        eras: LEGACY,
        definitions: 10,
        requests: &[
            call!(
                "create_entities",
                r#""arguments":{"entities":[{"name":"Ada","entityType":"person","observations":["é\n"]}]}"#
            ),
            call!(
                "create_relations",
                r#""arguments":{"relations":[{"from":"Ada","to":"Ada","relationType":"is"}]}"#
            ),
            call!(
                "add_observations",
                r#""arguments":{"observations":[{"entityName":"Bob","contents":["x"]}]}"#
            ),
            call!("read_graph", r#""arguments":{}"#),
            call!("search_nodes", r#""arguments":{"query":"ada"}"#),
        ],
    },
    Server {
        name: "server_sequential_thinking",
        title: Label::Npm("@modelcontextprotocol/server-sequential-thinking"),
        sdk: Label::Plain("TypeScript SDK 1.x"),
        transport: Transport::Stdio,
        program: Program::Package("@modelcontextprotocol/server-sequential-thinking/dist/index.js"),
        arguments: &[],
        environment: &[("DISABLE_THOUGHT_LOGGING", "true")],
        eras: LEGACY,
        definitions: 1,
        requests: &[
            call!(
                "sequentialthinking",
                r#""arguments":{"thought":"one","nextThoughtNeeded":true,"thoughtNumber":1,"totalThoughts":2}"#
            ),
            call!(
                "sequentialthinking",
                r#""arguments":{"thought":"two","nextThoughtNeeded":"false","thoughtNumber":"2","totalThoughts":"2"}"#
            ),
        ],
    },
    Server {
        name: "server_sqlite",
        title: Label::Pip("python/mcp-1.30.txt", "mcp-server-sqlite"),
        sdk: MCP_1_30,
        transport: Transport::Stdio,
        program: Program::Installed("mcp-1.30", "mcp-server-sqlite"),
        arguments: &["--db-path", "{folder}/test.db"],
        environment: &[],
        eras: LEGACY,
        definitions: 8,
        requests: &[
            call!(
                "create_table",
                r#""arguments":{"query":"CREATE TABLE t (a INTEGER, b TEXT)"}"#
            ),
            call!(
                "write_query",
                r#""arguments":{"query":"INSERT INTO t VALUES (1, 'é''\"')"}"#
            ),
            call!("read_query", r#""arguments":{"query":"SELECT * FROM t"}"#),
            call!("list_tables", r#""arguments":{}"#),
            call!("describe_table", r#""arguments":{"table_name":"t"}"#),
            call!("read_query", r#""arguments":{"query":"SELEKT"}"#),
            call!("append_insight", r#""arguments":{"insight":"so"}"#),
            read!("memo://insights"),
            prompt!("mcp-demo", r#""arguments":{"topic":"tea"}"#),
        ],
    },
    Server {
        name: "server_time",
        title: Label::Pip("requirements.txt", "mcp-server-time"),
        sdk: MCP_2,
        transport: Transport::Stdio,
        program: Program::NewestInstalled("mcp-server-time"),
        arguments: &["--local-timezone", "Europe/Berlin"],
        environment: &[],
        eras: BOTH_ERAS,
        definitions: 2,
        requests: &[
            call!(
                "get_current_time",
                r#""arguments":{"timezone":"Nowhere/Else"}"#
            ),
            call!(
                "convert_time",
                r#""arguments":{"source_timezone":"UTC","time":"25:00","target_timezone":"Asia/Kolkata"}"#
            ),
        ],
    },
    // Each start of this program writes its descriptions in another order, so the direct connection
    // and Drawbridge use the same process.
    Server {
        name: "mcp_time_over_http",
        title: Label::Npm("mcp-time-linux-x64"),
        sdk: Label::Plain("mcp-go 0.33, an unofficial Go SDK"),
        transport: Transport::Http,
        program: Program::Binary("mcp-time-linux-x64/bin/mcp-time"),
        arguments: &[
            "--transport",
            "stream",
            "--address",
            "http://127.0.0.1:{port}/mcp",
        ],
        environment: &[],
        eras: LEGACY,
        definitions: 5,
        requests: &[
            call!(
                "add_time",
                r#""arguments":{"time":"2026-02-28T23:00:00Z","duration":"2h"}"#
            ),
            call!(
                "add_time",
                r#""arguments":{"time":"2026-02-28","duration":"soon"}"#
            ),
            call!("add_time", r#""arguments":{}"#),
        ],
    },
    Server {
        name: "cortex_mcp",
        title: Label::Npm("@temporal-cortex/cortex-mcp-linux-x64"),
        sdk: Label::Plain("rmcp 1.1, the official Rust SDK"),
        transport: Transport::Stdio,
        program: Program::Binary("@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp"),
        arguments: &[],
        environment: &[],
        eras: LEGACY,
        definitions: 26,
        requests: &[
            call!(
                "adjust_timestamp",
                r#""arguments":{"datetime":"2026-03-28T12:00:00+01:00","adjustment":"+1d","timezone":"Europe/Berlin"}"#
            ),
            call!(
                "adjust_timestamp",
                r#""arguments":{"datetime":"today","adjustment":"+1d"}"#
            ),
            call!("adjust_timestamp", r#""arguments":{}"#),
            read!("cortex://docs/rrule-reference"),
            prompt!(
                "check_schedule",
                r#""arguments":{"time_range":"this week"}"#
            ),
        ],
    },
    Server {
        name: "kglite",
        title: Label::Pip("python/kglite.txt", "kglite"),
        sdk: Label::Plain("rmcp 3.5, the official Rust SDK"),
        transport: Transport::Stdio,
        program: Program::Installed("kglite", "kglite-mcp-server"),
        arguments: &[
            "--graph",
            "{folder}/graph.kgl",
            "--storage",
            "memory",
            "--writable",
        ],
        environment: &[],
        eras: LEGACY,
        definitions: 15,
        requests: &[
            call!("ping", r#""arguments":{"message":"é"}"#),
            call!("cypher_query", r#""arguments":{"query":"SELECT"}"#),
        ],
    },
];
