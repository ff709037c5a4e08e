/** The clients of the fake hub's computer, and their files. */

import { IpcError, type Event } from "..";
import type {
  ClientChangeView,
  ClientFileView,
  ClientKindView,
  PreviewConfig,
  Verbs,
} from "../bindings";

/** `clientImport.ts` has the verbs of an import. */
type ImportVerb = "config.find_servers" | "config.preview_import" | "config.import";
type ConfigVerb = Exclude<Extract<keyof Verbs, `config.${string}`>, ImportVerb>;
type ConfigHandlers = {
  [V in ConfigVerb]: (
    params: Verbs[V]["params"],
  ) => Verbs[V]["answer"] | Promise<Verbs[V]["answer"]>;
};

const HOME = "/home/ada";
const DAY_MS = 86_400_000;

function file(path: string, part: Partial<ClientFileView> = {}): ClientFileView {
  return {
    path: `${HOME}/${path}`,
    scope: "global",
    exists: true,
    state: "not_connected",
    entry: null,
    problems: [],
    managed: null,
    ...part,
  };
}

function kind(id: string, name: string, part: Partial<ClientKindView> = {}): ClientKindView {
  return {
    id,
    name,
    is_installed: true,
    supports_http: true,
    supports_projects: false,
    ask_once: [],
    notes: [],
    install_link: null,
    max_tool_name: 64,
    files: [],
    ...part,
  };
}

function kinds(): ClientKindView[] {
  const managed = {
    transport: "bridge" as const,
    asks_once: true,
    restores: false,
    connected_at: Date.now() - 7 * DAY_MS,
  };
  return [
    kind("claude-code", "Claude Code", {
      supports_projects: true,
      ask_once: ['permissions.allow: "mcp__drawbridge" in settings.json'],
      max_tool_name: 47,
      files: [
        file(".claude.json", {
          state: "connected",
          entry: "drawbridge",
          managed: { ...managed, client: "claude-code" },
        }),
      ],
    }),
    kind("codex", "Codex", {
      ask_once: ["tool_timeout_sec = 600"],
      files: [
        file(".codex/config.toml", {
          state: "removed",
          problems: ["Another program has removed the entry."],
          managed: { ...managed, client: "codex", asks_once: false },
        }),
      ],
    }),
    kind("cursor", "Cursor", {
      supports_projects: true,
      notes: [
        "Choose “Auto-run” for drawbridge in Cursor's settings, so that only Drawbridge asks.",
      ],
      install_link: "cursor://anysphere.cursor-deeplink/mcp/install?name=drawbridge&config=e30=",
      files: [file(".cursor/mcp.json")],
    }),
    kind("warp", "Warp", { notes: ["Add the server in Warp's own settings."] }),
    kind("zed", "Zed", {
      is_installed: false,
      supports_http: false,
      files: [file(".config/zed/settings.json", { exists: false })],
    }),
  ];
}

/** The client files of the fake hub, and the verbs `config.*` except the verbs of an import. */
export class FakeClientFiles {
  kinds: ClientKindView[] = kinds();
  changes: ClientChangeView[] = [];
  /** Calls a tool, and returns the result once a person has decided. */
  tryTool: (
    client: string,
    server: string,
    tool: string,
  ) => Verbs["config.try_tool"]["answer"] | Promise<Verbs["config.try_tool"]["answer"]> = () => ({
    text: "It works.",
    is_error: false,
    duration_ms: 1500,
  });
  /** The problem that the test of an entry finds, if there is one. */
  testProblem: string | null = null;
  private readonly previews = new Map<string, PreviewConfig>();
  private previewCount = 0;

  constructor(private readonly emit: (event: Event) => void) {}

  readonly verbs: ConfigHandlers = {
    "config.list": () => ({ kinds: this.kinds, changes: this.changes }),
    "config.show": ({ kind: id }) => {
      const { name, install_link, notes } = this.kind(id);
      const config = {
        mcpServers: { drawbridge: { command: "drawbridge", args: ["stdio", "--client", id] } },
      };
      return {
        kind: id,
        file_name: `${name.toLowerCase()}.json`,
        text: JSON.stringify(config, null, 2),
        config,
        install_link,
        notes,
      };
    },
    "config.preview": (params) => {
      const { file, kind } = this.target(params);
      const isConnect = params.action === "connect";
      if (isConnect === (file.state === "connected"))
        return { id: null, files: [], notes: kind.notes };
      const id = `preview-${++this.previewCount}`;
      this.previews.set(id, params);
      const entry =
        params.transport === "http"
          ? '"url": "http://127.0.0.1:8765/mcp", "headers": { "Authorization": "…" }'
          : `"command": "drawbridge", "args": ["stdio", "--client", "${kind.id}"]`;
      const sign = isConnect ? "+" : "-";
      const lines = [`${sign}    "drawbridge": { ${entry} }`];
      if (isConnect && params.ask_once)
        lines.push(...kind.ask_once.map((change) => `+    ${change}`));
      return {
        id,
        files: [
          {
            path: file.path,
            is_new: !file.exists,
            diff: ["@@ -1,3 +1,4 @@", ' {\n   "mcpServers": {', ...lines, "   }\n }\n"].join("\n"),
          },
        ],
        notes: kind.notes,
      };
    },
    "config.apply": ({ id, restores }) => {
      const params = this.previews.get(id);
      if (!params) throw new IpcError("not_found", "This preview no longer exists.");
      this.previews.delete(id);
      const { kind, file } = this.target(params);
      const isConnect = params.action === "connect";
      if (restores && params.transport === "http")
        throw new IpcError("invalid", "Drawbridge cannot restore an entry that contains a token");
      this.set(file, {
        exists: true,
        problems: [],
        state: isConnect ? "connected" : "not_connected",
        entry: isConnect ? "drawbridge" : null,
        managed: isConnect
          ? {
              client: kind.id,
              transport: params.transport,
              asks_once: params.ask_once,
              restores,
              connected_at: Date.now(),
            }
          : null,
      });
      return this.addChange({ action: params.action, kind: kind.id, files: [file.path] });
    },
    "config.undo": ({ change: id }) => {
      const found = this.changes.find((change) => change.id === id);
      if (!found) throw new IpcError("not_found", "There is no such change.");
      const undone = { ...found, undone_at: Date.now() };
      this.changes = this.changes.map((change) => (change.id === id ? undone : change));
      for (const path of found.files)
        for (const file of this.kinds.flatMap((kind) => kind.files))
          if (file.path === path)
            this.set(file, {
              state: found.action === "disconnect" ? "connected" : "not_connected",
              entry: found.action === "disconnect" ? "drawbridge" : null,
              managed: null,
            });
      this.emit({ kind: "client_files_changed" });
      return {
        change: undone,
        files: found.files.map((path) => ({ path, outcome: "restored", error: null })),
      };
    },
    "config.set_restores": ({ path, restores }) => {
      const found = this.kinds.flatMap((kind) => kind.files).find((file) => file.path === path);
      if (!found?.managed) throw new IpcError("not_found", `${path} is not managed`);
      this.set(found, { managed: { ...found.managed, restores } });
      this.emit({ kind: "client_files_changed" });
      return {};
    },
    "config.test": (params) => ({
      path: params.path ?? "",
      command_or_url: `drawbridge stdio --client ${params.kind}`,
      problem: this.testProblem,
      tools: this.testProblem === null ? 7 : 0,
      duration_ms: 120,
    }),
    "config.try_tool": ({ kind, server, tool }) => this.tryTool(kind, server, tool),
  };

  /** Adds a change to the list, and reports it. */
  addChange(part: Pick<ClientChangeView, "action" | "kind" | "files">): ClientChangeView {
    const change: ClientChangeView = {
      id: `change-${this.changes.length + 1}`,
      made_at: Date.now(),
      servers: [],
      undone_at: null,
      ...part,
    };
    this.changes = [change, ...this.changes];
    this.emit({ kind: "client_files_changed" });
    return change;
  }

  private kind(id: string): ClientKindView {
    const found = this.kinds.find((kind) => kind.id === id);
    if (!found) throw new IpcError("not_found", `'${id}' is not a client that Drawbridge knows`);
    return found;
  }

  /** Returns the client and the file that a change concerns. Adds a project's file if needed. */
  private target(params: PreviewConfig): { kind: ClientKindView; file: ClientFileView } {
    const found = this.kind(params.kind);
    if (params.project !== null) {
      const path = `${params.project}/.mcp.json`;
      const known = found.files.find((candidate) => candidate.path === path);
      if (known) return { kind: found, file: known };
      const added = { ...file(""), path, scope: "project" as const, exists: false };
      this.kinds = this.kinds.map((kind) =>
        kind.id === found.id ? { ...kind, files: [...kind.files, added] } : kind,
      );
      return { kind: found, file: added };
    }
    const chosen = found.files.find(
      (candidate) => params.path === null || candidate.path === params.path,
    );
    if (!chosen) throw new IpcError("invalid", `${params.path} is not a file of ${found.name}`);
    return { kind: found, file: chosen };
  }

  private set(changed: ClientFileView, part: Partial<ClientFileView>): void {
    this.kinds = this.kinds.map((kind) => ({
      ...kind,
      files: kind.files.map((file) => (file.path === changed.path ? { ...file, ...part } : file)),
    }));
  }
}
