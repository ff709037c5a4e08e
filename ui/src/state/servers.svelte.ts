/** The servers and the actions on them. */

import type {
  AccessReportView,
  AddBundle,
  BrokenSpec,
  BundleSource,
  BundleView,
  CapabilityView,
  CheckedSpec,
  DefinitionId,
  DefinitionKind,
  DefinitionVersion,
  Effect,
  Event,
  FilledManifest,
  FillManifest,
  Ipc,
  ManifestSource,
  ManifestView,
  PreflightCheck,
  PresetView,
  ParsedSpec,
  RequestKind,
  Sandbox,
  SecretValues,
  ServerSpec,
  ServerView,
  ToolView,
  VerifiedView,
} from "../ipc";
import { Removals } from "./removals.svelte";
import { listSpecSecrets } from "./specSecrets";
import { Reloader } from "./reloader";

export class Servers {
  list = $state.raw<ServerView[]>([]);
  broken = $state.raw<BrokenSpec[]>([]);
  loaded = $state(false);
  /** The servers that a person added: all except built-in servers. */
  readonly added = $derived(this.list.filter((server) => !server.spec.builtin));
  /** The number of servers that need a person, and of spec files that cannot be read. */
  readonly needsAttention = $derived(this.list.filter(needsPerson).length + this.broken.length);
  /** The approximate number of tokens that a model spends on all tools that clients list. */
  readonly contextTokens = $derived(this.list.reduce((sum, server) => sum + server.tokens, 0));
  /** The removals that can still be undone. */
  readonly removals = new Removals({ remove: (id) => this.remove(id) });
  /** The servers without those that are about to be removed. */
  readonly shown = $derived(this.list.filter(({ id }) => !this.removals.ids.includes(id)));
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    if (["server_changed", "session_changed", "policy_changed"].includes(event.kind))
      void this.load().catch(() => undefined);
  }

  find(id: string | null): ServerView | undefined {
    return this.list.find((server) => server.id === id);
  }

  /** Reads the servers in a pasted text, such as a client's settings or a command line. */
  readSpecs(text: string): Promise<ParsedSpec[]> {
    return this.ipc.call("servers.read_specs", { text });
  }

  loadPresets(): Promise<PresetView[]> {
    return this.ipc.call("servers.presets", {});
  }

  readManifest(source: ManifestSource): Promise<ManifestView> {
    return this.ipc.call("servers.read_manifest", { source });
  }

  fillManifest(params: FillManifest): Promise<FilledManifest> {
    return this.ipc.call("servers.fill_manifest", params);
  }

  openBundle(source: BundleSource): Promise<BundleView> {
    return this.ipc.call("bundles.open", { source });
  }

  /** Unpacks a bundle and adds its server, which a person then accepts on its page. */
  async addBundle(bundle: AddBundle): Promise<ServerView> {
    return this.replace(await this.ipc.call("bundles.add", bundle));
  }

  /** Verifies a spec that is not saved. `id` is the edited server, or `null` for a new server. */
  verifySpec(id: string | null, spec: ServerSpec, secrets: SecretValues): Promise<VerifiedView> {
    return this.ipc.call("servers.verify_spec", { id, spec, secrets, grant_secrets: [] });
  }

  verify(id: string): Promise<VerifiedView> {
    return this.ipc.call("servers.verify", { id });
  }

  /**
   * Adds a server. The server is accepted, unless `needsAcceptance` is set or the spec refers to
   * stored secrets: a person then accepts the server on its page.
   */
  async add(spec: ServerSpec, secrets: SecretValues, needsAcceptance = false): Promise<ServerView> {
    const pending = needsAcceptance || listSpecSecrets(spec).length > 0;
    return this.replace(
      await this.ipc.call("servers.add", { spec, secrets, pending, grant_secrets: [] }),
    );
  }

  /**
   * Changes a server. The change is accepted, unless the new spec refers to a foreign secret that
   * nobody has granted.
   */
  async update(
    { id, acceptance, foreign_secrets }: ServerView,
    spec: ServerSpec,
    secrets: SecretValues,
  ): Promise<ServerView> {
    const granted = acceptance === "accepted" ? foreign_secrets : [];
    const pending = listSpecSecrets(spec).some(
      (name) => !name.startsWith(`${id}.`) && !granted.includes(name),
    );
    return this.replace(
      await this.ipc.call("servers.update", { id, spec, secrets, pending, grant_secrets: [] }),
    );
  }

  /** Accepts the server as the view shows it. A later change is not accepted. */
  async accept({ id, identity }: ServerView, grantSecrets: string[]): Promise<ServerView> {
    return this.replace(
      await this.ipc.call("servers.accept", { id, identity, grant_secrets: grantSecrets }),
    );
  }

  /** Returns the versions of a definition, newest first. */
  loadDefinitionHistory(
    id: string,
    kind: DefinitionKind,
    name: string,
  ): Promise<DefinitionVersion[]> {
    return this.ipc.call("servers.definition_history", { id, kind, name });
  }

  /** Accepts definitions as they were shown. A later change is not accepted. */
  async acceptDefinitions(id: string, definitions: DefinitionId[]): Promise<ServerView> {
    return this.replace(await this.ipc.call("servers.accept_definitions", { id, definitions }));
  }

  /** Returns the report about the latest recorded run of a local server. */
  loadAccessReport(id: string): Promise<AccessReportView> {
    return this.ipc.call("servers.access_report", { id });
  }

  /** Restarts a local server, and records which files, addresses and programs it uses. */
  recordRun(id: string): Promise<AccessReportView> {
    return this.ipc.call("servers.record", { id });
  }

  /** Changes the sandbox of a server. A person accepts the change on its page. */
  async useSandbox({ id, spec }: ServerView, sandbox: Sandbox): Promise<ServerView> {
    return this.replace(
      await this.ipc.call("servers.update", {
        id,
        spec: { ...spec, sandbox },
        secrets: { env: {}, headers: {} },
        pending: true,
        grant_secrets: [],
      }),
    );
  }

  async sync(id: string): Promise<ServerView> {
    return this.replace(await this.ipc.call("servers.sync", { id }));
  }

  async restart(id: string): Promise<ServerView> {
    return this.replace(await this.ipc.call("servers.restart", { id }));
  }

  /** Whether the backend opens URLs in the system's browser. If not, the screen shows a link. */
  get opensBrowser(): boolean {
    return this.ipc.opensBrowser;
  }

  /** Starts a sign-in to a server, or opens the page of the running attempt again. */
  async signIn(id: string): Promise<void> {
    await this.ipc.call("servers.sign_in", { id });
    await this.load();
  }

  async cancelSignIn(id: string): Promise<void> {
    await this.ipc.call("servers.cancel_sign_in", { id });
    await this.load();
  }

  async signOut(id: string): Promise<ServerView> {
    return this.replace(await this.ipc.call("servers.sign_out", { id }));
  }

  async enable(id: string, enabled: boolean): Promise<ServerView> {
    return this.replace(await this.ipc.call("servers.enable", { id, enabled }));
  }

  /** Writes the versions that are in use now into the spec, in place of floating versions. */
  async pin(id: string): Promise<ServerView> {
    return this.replace(await this.ipc.call("servers.pin", { id }));
  }

  /** Moves the values of the spec that look like secrets to the secret store. */
  async moveLiterals(id: string): Promise<ServerView> {
    return this.replace(await this.ipc.call("servers.move_literals", { id }));
  }

  async remove(id: string): Promise<void> {
    await this.ipc.call("servers.remove", { id });
    this.list = this.list.filter((server) => server.id !== id);
  }

  /**
   * Sets the rule of a tool for all clients; `null` removes the rule, so that the other rules and
   * the default apply.
   */
  async setPolicy(tool: ToolView, effect: Effect | null): Promise<void> {
    const scope = { server: tool.server, tool: tool.name, client: null, user: null, kind: null };
    if (effect === null) await this.ipc.call("policy.remove", scope);
    else await this.ipc.call("policy.set", { effect, ...scope });
    await this.load();
  }

  /**
   * Sets the rule for all requests of a kind to a server, by all clients; `null` as the effect
   * removes the rule. Without a kind, an allow or an ask covers the calls of all tools, and a deny
   * covers requests of every kind.
   */
  async setServerPolicy(
    id: string,
    effect: Effect | null,
    kind: RequestKind | null,
  ): Promise<void> {
    const scope = { server: id, tool: null, client: null, user: null, kind };
    if (effect === null) await this.ipc.call("policy.remove", scope);
    else await this.ipc.call("policy.set", { effect, ...scope });
    await this.load();
  }

  /** Gets a prompt by hand, through the policy. */
  getPrompt(name: string, values: Record<string, unknown>): Promise<unknown> {
    return this.ipc.call("prompts.get", { name, arguments: values });
  }

  /** Reads a resource by hand, through the policy. */
  readResource(uri: string): Promise<unknown> {
    return this.ipc.call("resources.read", { uri });
  }

  /** Returns the JSON Schema of a tool's arguments. */
  loadSchema({ server, name }: ToolView): Promise<unknown> {
    return this.ipc.call("tools.schema", { server, name });
  }

  /** Returns the prompts, resources and templates of a server. */
  async loadCapabilities(id: string): Promise<CapabilityView[]> {
    return (await this.ipc.call("servers.capabilities", { id })).entries;
  }

  /** Checks the prerequisites of a server, without starting it. */
  runPreflight(id: string): Promise<PreflightCheck[]> {
    return this.ipc.call("servers.preflight", { id });
  }

  /** Checks the JSON of a spec. */
  checkSpec(text: string): Promise<CheckedSpec> {
    return this.ipc.call("servers.check_spec", { text });
  }

  private async read(): Promise<void> {
    const view = await this.ipc.call("servers.list", {});
    this.list = view.servers;
    this.broken = view.broken;
    this.loaded = true;
  }

  private replace(view: ServerView): ServerView {
    this.list = [...this.list.filter((server) => server.id !== view.id), view].toSorted((a, b) =>
      a.id < b.id ? -1 : 1,
    );
    return view;
  }
}

/** Returns whether the server is in error, or waits for something that a person has to do. */
export function needsPerson(server: ServerView): boolean {
  return (
    server.unaccepted.length > 0 ||
    ["error", "needs_acceptance", "needs_secret", "needs_sign_in"].includes(server.state)
  );
}
