/** An import of servers from the files of clients, from the search to the result. */

import { SvelteMap, SvelteSet } from "svelte/reactivity";
import {
  toIpcError,
  type ChosenServer,
  type ClientFileView,
  type ClientKindView,
  type FoundServersView,
  type FoundServerView,
  type ImportedView,
  type ImportPreview,
  type InputView,
  type Ipc,
  type UndoneView,
} from "../ipc";
import { messageOf } from "./errors";
import type { Servers } from "./servers.svelte";

type Task = "find" | "preview" | "import" | "undo";

/** A client, and its files that name the servers. */
export interface ClientWithFiles {
  kind: string;
  name: string;
  files: string[];
}

export class Import {
  step = $state<"choose" | "preview" | "done">("choose");
  running = $state<Task | "">("");
  error = $state("");
  /** The task that failed with `error`; empty if there is no error. */
  failed = $state<Task | "">("");
  /** Whether the hub rejected the import because something changed since the preview. */
  outdated = $state(false);

  found = $state.raw<FoundServersView | null>(null);
  /** The clients whose files were searched; empty if anything was found. */
  searched = $state.raw<ClientKindView[]>([]);
  /** The names of the selected servers. */
  readonly selected = new SvelteSet<string>();
  /** Whether to connect the clients to Drawbridge. */
  connect = $state(true);
  /** Whether to remove the entries of known servers from the clients' files. */
  removesKnown = $state(true);
  askOnce = $state(true);
  /** Whether Drawbridge restores its entries if another program changes or removes them. */
  restores = $state(false);
  /** The folders of projects whose files are searched too, one per line. */
  projects = $state("");

  preview = $state.raw<ImportPreview | null>(null);
  imported = $state.raw<ImportedView | null>(null);
  undone = $state.raw<UndoneView | null>(null);

  /** The servers that can be imported. */
  readonly importable = $derived(
    (this.found?.servers ?? []).filter((server) => !server.problem && !server.known_as),
  );
  /** The servers that Drawbridge already has. */
  readonly known = $derived(
    (this.found?.servers ?? []).filter((server) => !server.problem && server.known_as),
  );
  /** The entries that cannot be imported. */
  readonly unusable = $derived((this.found?.servers ?? []).filter((server) => server.problem));
  /** The known servers whose entries can be removed without asking for values. */
  readonly movable = $derived(this.known.filter((server) => server.inputs.length === 0));
  /** The selected servers, and the known servers whose entries are removed. */
  readonly chosen = $derived([
    ...this.importable.filter((server) => this.selected.has(server.name)),
    ...(this.connect && this.removesKnown ? this.movable : []),
  ]);
  /** The clients that have a chosen server. */
  readonly clients = $derived(groupByClient(this.chosen));

  private readonly values = new SvelteMap<string, string>();

  constructor(
    private readonly ipc: Ipc,
    private readonly servers: Servers,
  ) {}

  /**
   * Whether closing the import would lose entered values or the preview, or hide the result of a
   * running task.
   */
  get isHalfDone(): boolean {
    return (
      this.running === "import" ||
      this.running === "undo" ||
      this.step === "preview" ||
      (this.step === "choose" && [...this.values.values()].some(Boolean))
    );
  }

  /** Whether a running task changes the clients' files. */
  get isChanging(): boolean {
    return this.running === "import" || this.running === "undo";
  }

  value(server: string, input: InputView): string {
    return this.values.get(valueKey(server, input.id)) ?? "";
  }

  setValue(server: string, input: InputView, value: string): void {
    this.values.set(valueKey(server, input.id), value);
  }

  /** Whether a selected server still needs a value. */
  get lacksValue(): boolean {
    return this.chosen.some((server) =>
      server.inputs.some((input) => !this.value(server.name, input)),
    );
  }

  select(name: string, isSelected: boolean): void {
    if (isSelected) this.selected.add(name);
    else this.selected.delete(name);
  }

  selectAll(isSelected: boolean): void {
    for (const server of this.importable) this.select(server.name, isSelected);
  }

  /** Looks for servers, and selects all that can be imported. */
  find(): Promise<void> {
    return this.run("find", async () => {
      const found = await this.ipc.call("config.find_servers", {
        kind: null,
        projects: this.projectList(),
        environment: {},
      });
      const isEmpty = found.servers.length === 0 && found.unreadable.length === 0;
      this.searched = isEmpty ? await this.listSearched() : [];
      this.found = found;
      this.selected.clear();
      this.selectAll(true);
    });
  }

  showPreview(): Promise<void> {
    return this.run("preview", async () => {
      this.outdated = false;
      this.preview = await this.ipc.call("config.preview_import", {
        servers: this.chosen.map((server) => this.toChosen(server)),
        connect: this.connect,
        ask_once: this.connect && this.askOnce,
        kind: null,
        projects: this.projectList(),
        environment: {},
      });
      this.step = "preview";
    });
  }

  goBack(): void {
    this.step = "choose";
    this.preview = null;
    this.error = "";
    this.failed = "";
    this.outdated = false;
  }

  /** Imports the servers of the preview. Returns the ids of the added servers; `null` on failure. */
  async import(): Promise<string[] | null> {
    const preview = this.preview;
    if (!preview) return null;
    await this.run("import", async () => {
      this.imported = await this.ipc.call("config.import", {
        id: preview.id,
        restores: this.connect && this.restores,
      });
      this.values.clear();
      this.step = "done";
    });
    if (!this.imported) return null;
    await this.servers.load().catch(() => undefined);
    return this.imported.servers;
  }

  /** Undoes the whole import. */
  async undo(): Promise<void> {
    const imported = this.imported;
    if (!imported) return;
    await this.run("undo", async () => {
      this.undone = await this.ipc.call("config.undo", { change: imported.change.id, kind: null });
    });
    await this.servers.load().catch(() => undefined);
  }

  /** Begins again with a new search. */
  async restart(): Promise<void> {
    this.goBack();
    this.imported = null;
    this.undone = null;
    this.found = null;
    await this.find();
  }

  private async run(task: Task, action: () => Promise<void>): Promise<void> {
    this.running = task;
    this.error = "";
    this.failed = "";
    try {
      await action();
    } catch (thrown) {
      this.error = messageOf(thrown);
      this.failed = task;
      this.outdated = ["conflict", "not_found"].includes(toIpcError(thrown).code);
    } finally {
      this.running = "";
    }
  }

  private toChosen({ name, inputs }: FoundServerView): ChosenServer {
    return {
      name,
      inputs: Object.fromEntries(inputs.map((input) => [input.id, this.value(name, input)])),
    };
  }

  private projectList(): string[] {
    return this.projects
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
  }

  /** Returns the clients that have files, each with its files and those of the projects. */
  private async listSearched(): Promise<ClientKindView[]> {
    const projects = this.projectList();
    const overviews = await Promise.all(
      (projects.length ? projects : [null]).map((project) =>
        this.ipc.call("config.list", { project, environment: {} }),
      ),
    );
    const kinds = overviews.flatMap((overview) => overview.kinds);
    const isFirst = (file: ClientFileView, at: number, files: ClientFileView[]) =>
      files.findIndex(({ path }) => path === file.path) === at;
    return (overviews[0]?.kinds ?? [])
      .map((kind) => {
        const files = kinds.filter(({ id }) => id === kind.id).flatMap(({ files }) => files);
        return { ...kind, files: files.filter(isFirst) };
      })
      .filter(({ files }) => files.length > 0);
  }
}

/** Returns the memory in KiB that is saved if all clients share one process of the server. */
export function savedMemory({ processes, memory_kib }: FoundServerView): number {
  return processes > 1 ? memory_kib - Math.floor(memory_kib / processes) : 0;
}

/** Returns the clients whose files name the servers, each with these files. */
export function groupByClient(servers: FoundServerView[]): ClientWithFiles[] {
  const clients: ClientWithFiles[] = [];
  for (const { kind, kind_name, file } of servers.flatMap((server) => server.found_at)) {
    const client = clients.find((client) => client.kind === kind);
    if (!client) clients.push({ kind, name: kind_name, files: [file] });
    else if (!client.files.includes(file)) client.files.push(file);
  }
  return clients.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function valueKey(server: string, input: string): string {
  return JSON.stringify([server, input]);
}
