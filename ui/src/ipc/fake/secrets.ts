/** The secrets of the fake hub. It keeps no values. */

import type {
  Done,
  SecretStoreChange,
  SecretStoreView,
  SecretView,
  UseSecretStore,
} from "../bindings";

export class FakeSecrets {
  private views: SecretView[] = [
    { name: "github.Authorization", present: true, servers: ["github"], traces: false },
    { name: "hook:4f1c.TOKEN", present: true, servers: [], hooks: ["call-log"], traces: false },
    { name: "weather.API_KEY", present: false, servers: ["weather"], traces: false },
  ];

  store: SecretStoreView = {
    kind: "keyring",
    status: "ready",
    file: null,
    problem: "",
    remedy: "",
    needs_passphrase: false,
  };

  useStore({ kind }: UseSecretStore): SecretStoreChange {
    const file = kind === "file" ? "/home/ada/.local/share/drawbridge/secrets.json" : null;
    this.store = { ...this.store, kind, file };
    const moved = this.views.filter((view) => view.present).map((view) => view.name);
    return { store: this.store, moved, unread: [], not_removed: [], broken_files: [] };
  }

  unlock(): SecretStoreView {
    this.store = {
      ...this.store,
      status: "ready",
      problem: "",
      remedy: "",
      needs_passphrase: false,
    };
    return this.store;
  }

  clear(): void {
    this.views = [];
  }

  /** Removes all values. References to them stay. */
  removeValues(): void {
    this.views = this.views.map((view) => ({ ...view, present: false }));
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
