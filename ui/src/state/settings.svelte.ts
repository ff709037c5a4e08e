/** The hub's settings and health. */

import type {
  ChangeSettings,
  Event,
  HealthView,
  Ipc,
  ListenerHealth,
  RuntimeStatus,
  SettingsView,
} from "../ipc";
import { Reloader } from "./reloader";

export class Settings {
  view = $state.raw<SettingsView | null>(null);
  health = $state.raw<HealthView | null>(null);
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  /** The HTTP listener if it does not listen, so that no client can connect over HTTP. */
  get httpFailure(): ListenerHealth | undefined {
    return this.health?.transports.find(({ name, listening }) => name === "http" && !listening);
  }

  /** A warning if the disk of the data folder is almost full. */
  get diskWarning(): string | undefined {
    return this.health?.checks.find(({ name, ok }) => name === "disk" && !ok)?.error;
  }

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    if (event.kind === "settings_changed" || event.kind === "policy_changed")
      void this.load().catch(() => undefined);
  }

  async change(change: Partial<ChangeSettings>): Promise<void> {
    this.view = await this.ipc.call("settings.change", {
      approval_timeout_s: null,
      cache_ttl_s: null,
      oauth_client_metadata_url: null,
      audit_retention_days: null,
      records_max_mib: null,
      keep_results: null,
      kept_result_kib: null,
      kept_results_days: null,
      log_retention_days: null,
      logs_max_mib: null,
      otlp_endpoint: null,
      otlp_headers: null,
      otlp_content: null,
      port: null,
      allowed_hosts: null,
      roots: null,
      elicitation_forms: null,
      official_registry_url: null,
      ...change,
    });
  }

  /**
   * Changes the port. Returns the new address of the page if the endpoint serves the page, and
   * otherwise `null`. The address names the screen that the page shows, and has a code that signs
   * the browser in, because the browser's token belongs to the old origin.
   */
  async changePort(port: number, page: Location): Promise<string | null> {
    // The endpoint has several names (this computer's, and the allowed hosts), so only the ports
    // are compared.
    const moves = this.health?.transports.some(
      ({ name, listening, address }) =>
        name === "http" && listening && page.port === new URL(address).port,
    );
    const link = moves ? await this.ipc.call("screens.open", {}) : null;
    await this.change({ port });
    if (link === null) return null;
    const hash = new URLSearchParams({ login: link.code, screen: page.hash });
    return `${page.protocol}//${page.hostname}:${port}/#${hash.toString()}`;
  }

  /** Stores the value of a header for traces as a secret, and adds the header. */
  async addTraceHeader(name: string, value: string): Promise<void> {
    const secret = `otlp.${name.toLowerCase().replace(/[^a-z0-9]+/g, "_")}`;
    const headers = { ...this.view?.otlp_headers, [name]: `\${keyring:${secret}}` };
    await this.ipc.call("secrets.set", { name: secret, value });
    await this.change({ otlp_headers: headers });
  }

  /** Removes a header for traces. Its value stays in the secret store. */
  async removeTraceHeader(name: string): Promise<void> {
    const headers = Object.entries(this.view?.otlp_headers ?? {}).filter(([key]) => key !== name);
    await this.change({ otlp_headers: Object.fromEntries(headers) });
  }

  /** Checks the programs that start packages. Takes a second or two. */
  checkRuntimes(): Promise<RuntimeStatus[]> {
    return this.ipc.call("servers.check_runtimes", {});
  }

  private async read(): Promise<void> {
    [this.view, this.health] = await Promise.all([
      this.ipc.call("settings.show", {}),
      this.ipc.call("health.show", {}),
    ]);
  }
}
