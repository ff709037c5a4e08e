/** The servers behind the door, and what can be done with them. */

import type {
  BrokenSpec, Effect, Event, Ipc, ReadSpec, SecretValues, ServerSpec, ServerView, ToolView, VerifiedView,
} from "../ipc";
import { Reader } from "./reader";

export class Servers {
  list = $state.raw<ServerView[]>([]);
  broken = $state.raw<BrokenSpec[]>([]);
  loaded = $state(false);
  /** Those that a person has to look at: not accepted, or in trouble. */
  readonly needy = $derived(this.list.filter(needsCare).length + this.broken.length);
  private readonly reader = new Reader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reader.run();
  }

  on(event: Event): void {
    if (event.kind === "server_changed" || event.kind === "policy_changed") void this.load().catch(() => undefined);
  }

  find(id: string | null): ServerView | undefined {
    return this.list.find((server) => server.id === id);
  }

  readSpecs(text: string): Promise<ReadSpec[]> {
    return this.ipc.call("servers.read_specs", { text });
  }

  try(spec: ServerSpec, secrets: SecretValues): Promise<VerifiedView> {
    return this.ipc.call("servers.try", { spec, secrets });
  }

  verify(id: string): Promise<VerifiedView> {
    return this.ipc.call("servers.verify", { id });
  }

  async add(spec: ServerSpec, secrets: SecretValues): Promise<ServerView> {
    return this.keep(await this.ipc.call("servers.add", { spec, secrets, pending: false }));
  }

  async update(id: string, spec: ServerSpec, secrets: SecretValues): Promise<ServerView> {
    return this.keep(await this.ipc.call("servers.update", { id, spec, secrets }));
  }

  /** Accepts what that view shows; what it has become since is not accepted. */
  async accept({ id, identity }: ServerView): Promise<ServerView> {
    return this.keep(await this.ipc.call("servers.accept", { id, identity }));
  }

  async act(id: string, verb: "servers.sync" | "servers.restart"): Promise<ServerView> {
    return this.keep(await this.ipc.call(verb, { id }));
  }

  /** Whether the page where a person signs in opens by itself. */
  get opensBrowser(): boolean {
    return this.ipc.opensBrowser;
  }

  /** Begins to sign in to a server, or opens the page of the attempt that runs once more. */
  async signIn(id: string): Promise<void> {
    await this.ipc.call("servers.authorize", { id });
    await this.load();
  }

  async cancelSignIn(id: string): Promise<void> {
    await this.ipc.call("servers.cancel_sign_in", { id });
    await this.load();
  }

  async signOut(id: string): Promise<ServerView> {
    return this.keep(await this.ipc.call("servers.sign_out", { id }));
  }

  async enable(id: string, enabled: boolean): Promise<ServerView> {
    return this.keep(await this.ipc.call("servers.enable", { id, enabled }));
  }

  async remove(id: string): Promise<void> {
    await this.ipc.call("servers.remove", { id });
    this.list = this.list.filter((server) => server.id !== id);
  }

  /** The policy of one tool for all clients; `null` takes its own policy away, so that the default holds. */
  async setPolicy(tool: ToolView, effect: Effect | null): Promise<void> {
    const scope = { server: tool.server, tool: tool.name, client: null };
    if (effect === null) await this.ipc.call("policy.remove", scope);
    else await this.ipc.call("policy.set", { effect, ...scope });
    await this.load();
  }

  private async read(): Promise<void> {
    const view = await this.ipc.call("servers.list", {});
    this.list = view.servers;
    this.broken = view.broken;
    this.loaded = true;
  }

  private keep(view: ServerView): ServerView {
    this.list = [...this.list.filter((server) => server.id !== view.id), view].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    return view;
  }
}

function needsCare(server: ServerView): boolean {
  return ["error", "needs_approval", "needs_secret", "needs_sign_in"].includes(server.state);
}
