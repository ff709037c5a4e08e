/** The configuration files of clients on this computer, and Drawbridge's entries in them. */

import type {
  ClientChangeView,
  ClientFileView,
  ClientKindView,
  ConfigAction,
  ConfigPreview,
  ConfigSnippet,
  ConfigTestView,
  Event,
  FoundServersView,
  Ipc,
  ToolView,
  UndoneView,
} from "../ipc";
import type { ClientTransport, ToolResultView } from "../ipc/bindings";
import { Reloader } from "./reloader";

/** How to connect or disconnect a client. */
export interface ConfigRequest {
  /** The id of the kind of client, such as `cursor`. */
  kind: string;
  action: ConfigAction;
  /** The file; the client's global file if `null`. */
  path: string | null;
  /** The folder of a project, to change the file of that project; otherwise `null`. */
  project: string | null;
  transport: ClientTransport;
  askOnce: boolean;
}

/**
 * Returns whether another program has changed or removed Drawbridge's entry in a file, or the file
 * cannot be read, so that its client may not use Drawbridge.
 */
export function needsAttention(file: ClientFileView): boolean {
  return file.managed !== null && ["changed", "removed", "broken"].includes(file.state);
}

/** Returns whether the file has an entry of Drawbridge. */
export function hasEntry(file: ClientFileView): boolean {
  return file.entry !== null;
}

/**
 * Returns whether a client has files besides its project files, and Drawbridge neither has an entry
 * in any of them nor is meant to have one.
 */
export function canConnect({ files }: ClientKindView): boolean {
  const shared = files.filter((file) => file.scope !== "project");
  return shared.length > 0 && !shared.some((file) => hasEntry(file) || file.managed);
}

export class ClientFiles {
  kinds = $state.raw<ClientKindView[]>([]);
  /** The changes of files, newest first. */
  changes = $state.raw<ClientChangeView[]>([]);
  loaded = $state(false);
  /** The kinds of clients that are installed, or whose files have or should have an entry. */
  readonly installed = $derived(
    this.kinds.filter(
      (kind) => kind.is_installed || kind.files.some((file) => hasEntry(file) || file.managed),
    ),
  );
  readonly others = $derived(this.kinds.filter((kind) => !this.installed.includes(kind)));
  /** The number of files that need attention. */
  readonly needAttention = $derived(
    this.kinds.flatMap((kind) => kind.files).filter(needsAttention).length,
  );
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    if (event.kind === "client_files_changed") void this.load().catch(() => undefined);
  }

  /** Returns the effect of a change, without the values of secrets. */
  preview(request: ConfigRequest): Promise<ConfigPreview> {
    return this.ipc.call("config.preview", {
      kind: request.kind,
      action: request.action,
      path: request.project === null ? request.path : null,
      project: request.project,
      name: null,
      transport: request.transport,
      ask_once: request.askOnce,
      environment: {},
    });
  }

  /**
   * Makes the change that a preview shows. If `restores` is set, Drawbridge restores its entry
   * whenever another program changes the entry.
   */
  async apply(id: string, restores: boolean): Promise<ClientChangeView> {
    const change = await this.ipc.call("config.apply", { id, restores });
    await this.load();
    return change;
  }

  /** Undoes a change, and removes the servers that it imported. */
  async undo(change: string): Promise<UndoneView> {
    const undone = await this.ipc.call("config.undo", { change, kind: null });
    await this.load();
    return undone;
  }

  async setRestores(path: string, restores: boolean): Promise<void> {
    await this.ipc.call("config.set_restores", { path, restores });
    await this.load();
  }

  /** Uses Drawbridge's entry in a client's file as the client would, and lists the tools. */
  test(kind: string, path: string): Promise<ConfigTestView> {
    return this.ipc.call("config.test", { kind, path, project: null, environment: {} });
  }

  /** Calls a tool through a client's entry. The policy applies as for any call of this client. */
  tryTool(
    kind: string,
    path: string,
    tool: ToolView,
    values: Record<string, unknown>,
  ): Promise<ToolResultView> {
    return this.ipc.call("config.try_tool", {
      kind,
      path,
      server: tool.server,
      tool: tool.name,
      arguments: values,
      environment: {},
    });
  }

  /** Returns the servers in the files of all clients. */
  findServers(): Promise<FoundServersView> {
    return this.ipc.call("config.find_servers", { kind: null, projects: [], environment: {} });
  }

  /** Returns the configuration to paste. */
  show(kind: string): Promise<ConfigSnippet> {
    return this.ipc.call("config.show", { kind });
  }

  private async read(): Promise<void> {
    const overview = await this.ipc.call("config.list", { project: null, environment: {} });
    this.kinds = overview.kinds;
    this.changes = overview.changes;
    this.loaded = true;
  }
}
