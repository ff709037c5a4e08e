/** The secrets of the hub in memory. It keeps no values. */

import type { Done, SecretView } from "../bindings";

export class FakeSecrets {
  private views: SecretView[] = [
    { name: "github.Authorization", present: true, servers: ["github"], traces: false },
    { name: "hook:4f1c.TOKEN", present: true, servers: [], hooks: ["call-log"], traces: false },
    { name: "weather.API_KEY", present: false, servers: ["weather"], traces: false },
  ];

  clear(): void {
    this.views = [];
  }

  list(): SecretView[] {
    return this.views;
  }

  rename(name: string, newName: string): Done {
    this.views = this.views.map((view) => (view.name === name ? { ...view, name: newName } : view));
    return {};
  }

  set(name: string, present: boolean): Done {
    this.views = this.views.map((view) => (view.name === name ? { ...view, present } : view));
    return {};
  }
}
