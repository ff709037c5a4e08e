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
    return this.health?.transports.find((one) => one.name === "http" && !one.listening);
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
      port: null,
      ...change,
    });
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
