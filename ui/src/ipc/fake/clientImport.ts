/** The servers in the files of the fake hub's clients, and their import. */

import { IpcError } from "..";
import type {
  ClientChangeView,
  Event,
  FileDiffView,
  FoundAtView,
  FoundServersView,
  FoundServerView,
  ImportedView,
  ImportPreview,
  ImportServers,
  PreviewImport,
  ServerView,
  UndoneView,
} from "../bindings";
import * as data from "./data";

interface ImportHub {
  servers: ServerView[];
  emit(event: Event): void;
}

const CLAUDE: FoundAtView = {
  kind: "claude-desktop",
  kind_name: "Claude Desktop",
  file: "/home/ada/.config/Claude/claude_desktop_config.json",
};
const CURSOR: FoundAtView = {
  kind: "cursor",
  kind_name: "Cursor",
  file: "/home/ada/.cursor/mcp.json",
};
const VS_CODE: FoundAtView = {
  kind: "vscode",
  kind_name: "VS Code",
  file: "/home/ada/.config/Code/User/mcp.json",
};

function foundServer(name: string, part: Partial<FoundServerView>): FoundServerView {
  return {
    name,
    command: "",
    problem: null,
    found_at: [],
    secrets: [],
    inputs: [],
    notes: [],
    known_as: null,
    processes: 0,
    memory_kib: 0,
    ...part,
  };
}

/** Returns seven servers of three clients. */
export function foundServers(): FoundServerView[] {
  return [
    foundServer("filesystem", {
      command: "npx -y @modelcontextprotocol/server-filesystem /home/ada/Projects",
      found_at: [CLAUDE, CURSOR],
    }),
    foundServer("gitlab", {
      command: "npx -y @modelcontextprotocol/server-gitlab",
      found_at: [CLAUDE, CURSOR, VS_CODE],
      secrets: ["gitlab.GITLAB_PERSONAL_ACCESS_TOKEN"],
      processes: 2,
      memory_kib: 188_416,
    }),
    foundServer("jira", {
      command: "uvx mcp-atlassian",
      found_at: [VS_CODE],
      secrets: ["jira.JIRA_TOKEN"],
      inputs: [
        {
          id: "jira-token",
          description: "The API token of your Jira account.",
          choices: [],
          is_secret: true,
        },
      ],
    }),
    foundServer("linear", {
      command: "https://mcp.linear.app/mcp",
      found_at: [CURSOR, VS_CODE],
      notes: ["The same server is also named 'linear-mcp'."],
    }),
    foundServer("playwright", {
      command: "npx -y @playwright/mcp@latest",
      found_at: [CLAUDE],
      notes: [
        "Not taken over: 'autoApprove'. Drawbridge's policy decides which calls need no approval.",
      ],
      processes: 1,
      memory_kib: 93_184,
    }),
    foundServer("redis", {
      command: "npx -y @modelcontextprotocol/server-redis •••",
      found_at: [CURSOR],
      notes: [
        "Argument 3 looks like a secret. Every program on this computer can read the arguments of a running server; use a variable instead if the server supports one.",
      ],
    }),
    foundServer("search", {
      problem: "the transport 'websocket' is unknown; use 'stdio', 'http' or 'sse'",
      found_at: [VS_CODE],
    }),
  ];
}

export class FakeImport {
  found = foundServers();
  unreadable: FoundServersView["unreadable"] = [
    {
      file: "/home/ada/.gemini/settings.json",
      reason:
        "this is not valid JSON: line 14, column 3: expected a comma. Correct it, and try again",
    },
  ];
  /** The reasons why files stay as they are, by their paths. */
  readonly unchangeable = new Map<string, string>();
  /** The reasons why files cannot be restored, by their paths. */
  readonly unrestorable = new Map<string, string>();
  private readonly previews = new Map<string, { params: PreviewImport; view: ImportPreview }>();
  private readonly changes: ClientChangeView[] = [];
  private lastId = 0;

  constructor(private readonly hub: ImportHub) {}

  find(): FoundServersView {
    const servers = this.found.map((server) => ({ ...server, known_as: this.knownAs(server) }));
    return {
      servers,
      unreadable: this.unreadable,
      saved_kib: servers.reduce(
        (sum, { processes, memory_kib }) =>
          sum + (processes > 1 ? memory_kib - Math.floor(memory_kib / processes) : 0),
        0,
      ),
    };
  }

  preview(params: PreviewImport): ImportPreview {
    const chosen = params.servers.map(({ name, inputs }) => {
      const server = this.find().servers.find((server) => server.name === name);
      if (!server)
        throw new IpcError(
          "not_found",
          `no server named '${name}' was found; look for servers again`,
        );
      const missing = server.inputs.find((input) => !inputs[input.id]);
      if (missing)
        throw new IpcError(
          "invalid",
          `${name}: the value '${missing.id}' is missing. ${missing.description}`,
        );
      return server;
    });
    const files = params.connect ? toFiles(chosen) : [];
    const added = chosen.filter((server) => server.known_as === null);
    const view: ImportPreview = {
      id: this.newId("preview"),
      servers: added.map((server) => server.name),
      secrets: added.flatMap((server) => server.secrets),
      files: files.filter((file) => !this.unchangeable.has(file.path)),
      problems: files.flatMap((file) => this.unchangeable.get(file.path) ?? []),
    };
    this.previews.set(view.id, { params, view });
    return view;
  }

  import({ id }: ImportServers): ImportedView {
    const preview = this.previews.get(id);
    this.previews.delete(id);
    if (!preview)
      throw new IpcError(
        "not_found",
        "these changes were made already, or are too old; review the changes again",
      );
    for (const name of preview.view.servers) this.add(name);
    const change: ClientChangeView = {
      id: this.newId("change"),
      made_at: Date.now(),
      action: "import",
      kind: null,
      files: preview.view.files.map((file) => file.path),
      servers: preview.view.servers,
      undone_at: null,
    };
    this.changes.unshift(change);
    this.hub.emit({ kind: "client_files_changed" });
    return { servers: preview.view.servers, change };
  }

  /** Undoes an import. Returns null if the change is no import. */
  undo(id: string | null): UndoneView | null {
    const change = this.changes.find((change) => change.id === id);
    if (!change) return null;
    if (change.undone_at !== null)
      throw new IpcError("conflict", `the change '${change.id}' was undone already`);
    const isComplete = change.files.every((path) => !this.unrestorable.has(path));
    change.undone_at = isComplete ? Date.now() : null;
    this.hub.servers = this.hub.servers.filter((server) => !change.servers.includes(server.id));
    for (const server of change.servers) this.hub.emit({ kind: "server_changed", id: server });
    this.hub.emit({ kind: "client_files_changed" });
    return {
      change,
      files: change.files.map((path) => {
        const error = this.unrestorable.get(path) ?? null;
        return { path, outcome: error === null ? "restored" : null, error };
      }),
    };
  }

  private add(name: string): void {
    const [command = "", ...args] =
      this.found.find((server) => server.name === name)?.command.split(" ") ?? [];
    const isUrl = command.startsWith("https://");
    const needsAcceptance = name === "playwright";
    const server = data.server(name, {
      spec: data.spec({ name, ...(isUrl ? { url: command } : { command, args }) }),
      sync_status: "NEVER_SYNCED",
      last_synced_at: null,
      ...(needsAcceptance && {
        acceptance: "new",
        state: "needs_acceptance",
        reason: "Its program changed while it was imported.",
        remedy: "Check what the server would start now, then accept it.",
      }),
    });
    this.hub.servers = [...this.hub.servers, server].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    this.hub.emit({ kind: "server_changed", id: name });
  }

  private knownAs({ command }: FoundServerView): string | null {
    const known = this.hub.servers.find(
      ({ spec }) => (spec.url ?? [spec.command, ...(spec.args ?? [])].join(" ")) === command,
    );
    return known?.id ?? null;
  }

  private newId(kind: string): string {
    this.lastId += 1;
    return `${kind}-${String(this.lastId)}`;
  }
}

/** Returns the difference in each file that has one of the servers. */
function toFiles(servers: FoundServerView[]): FileDiffView[] {
  const places = [CLAUDE, CURSOR, VS_CODE].filter((place) =>
    servers.some((server) => server.found_at.includes(place)),
  );
  return places.map(({ kind, file }) => {
    const removed = servers
      .filter((server) => server.found_at.some((place) => place.file === file))
      .flatMap(({ name, command, secrets }) => {
        const [program = "", ...args] = command.split(" ");
        const isUrl = program.startsWith("https://");
        return [
          `-    "${name}": {`,
          isUrl ? `-      "url": "${program}"` : `-      "command": "${program}",`,
          ...(isUrl ? [] : [`-      "args": ${JSON.stringify(args)}${secrets.length ? "," : ""}`]),
          ...secrets.map((secret) => `-      "env": { "${secret.split(".")[1] ?? ""}": "•••" }`),
          "-    },",
        ];
      });
    const diff = [
      `@@ -1,${String(removed.length + 4)} +1,8 @@`,
      " {",
      `   "${kind === "vscode" ? "servers" : "mcpServers"}": {`,
      ...removed,
      '+    "drawbridge": {',
      '+      "command": "/usr/bin/drawbridge",',
      `+      "args": ["stdio", "--client", "${kind}"]`,
      "+    }",
      "   }",
      " }",
      "",
    ];
    return { path: file, is_new: false, diff: diff.join("\n") };
  });
}
