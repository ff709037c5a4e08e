/** The official registry of the fake hub. */

import { IpcError, type Event, type Verbs } from "..";
import type {
  FoundServers,
  ManifestSource,
  ManifestView,
  OfficialRegistryView,
  PublishedKind,
  PublishedServerView,
  ServerView,
  SettingsView,
} from "../bindings";
import { choice, input, PRESETS, readManifest, RUNTIMES } from "./manifests";

export const REGISTRY_URL = "https://registry.modelcontextprotocol.io";

const DAY_MS = 86_400_000;

interface Published {
  view: PublishedServerView;
  manifest: ManifestView;
}

function published(
  name: string,
  part: Partial<PublishedServerView>,
  choices: ManifestView["choices"],
): Published {
  const view: PublishedServerView = {
    name,
    title: name.split("/")[1] ?? name,
    publisher: name.split("/")[0] ?? "",
    description: "",
    version: "1.0.0",
    kinds: ["npm"],
    needs_secret: false,
    deprecated: false,
    updated_at: Date.now() - 3 * DAY_MS,
    repository_url: "",
    website_url: "",
    added: [],
    problem: choices[0]?.problem ?? "",
    ...part,
  };
  const { title, description, version } = view;
  return { view, manifest: { name, title, description, version, choices } };
}

function listPublished(): Published[] {
  const named = [
    published(
      "com.atlassian/jira",
      {
        title: "Jira",
        description: "Reads and changes issues, boards and sprints of your Jira site.",
        version: "2.1.0",
        kinds: ["npm", "remote"],
        needs_secret: true,
        repository_url: "https://github.com/atlassian/jira-mcp",
        website_url: "https://www.atlassian.com/software/jira",
      },
      [
        choice("npx @atlassian/jira-mcp@2.1.0", {
          preview: "npx -y @atlassian/jira-mcp@2.1.0 --site <site>",
          inputs: [
            input("JIRA_TOKEN", {
              kind: "env",
              required: true,
              secret: true,
              description: "An API token of your account",
            }),
            input("site", { required: true, description: "The address of your site" }),
          ],
        }),
        choice("https://mcp.atlassian.com/v1/mcp", { runtime: null }),
      ],
    ),
    published(
      "io.github.ada/postgres",
      {
        title: "Postgres",
        description: "Runs read-only queries on a database.\u202e Hidden.",
        version: "0.9.2",
        kinds: ["pypi"],
        repository_url: "https://github.com/ada/postgres-mcp",
      },
      [
        choice("uvx postgres-mcp@0.9.2", {
          runtime: "uvx",
          inputs: [input("DATABASE", { kind: "env", required: true, description: "Its name" })],
        }),
      ],
    ),
    published(
      "io.github.old/weather",
      { title: "Weather", description: "Forecasts.", deprecated: true, kinds: ["oci"] },
      [choice("docker ghcr.io/old/weather:1.0.0", { runtime: "docker" })],
    ),
  ];
  const more = Array.from({ length: 40 }, (_, index) =>
    published(
      `io.github.many/server-${String(index + 1).padStart(2, "0")}`,
      { description: "One of many.", kinds: ["remote"] },
      [choice(`https://many.example/${String(index + 1)}/mcp`, { runtime: null })],
    ),
  );
  return [...named, ...more];
}

/** The part of the fake hub that the official registry uses. */
interface Hub {
  servers: ServerView[];
  settings: SettingsView;
  emit(event: Event): void;
}

export class FakeRegistry {
  /** The copy of the list, as the last refresh found it. */
  published: Published[] = [];
  /** The servers that the next refresh finds. */
  listed = listPublished();
  state: OfficialRegistryView = {
    url: REGISTRY_URL,
    refreshed_at: null,
    complete: false,
    stale: true,
    refreshing: false,
    skipped: 0,
    error: "",
  };
  /** The reason why the registry cannot be reached, or an empty string. */
  failure = "";
  /** How long a refresh takes. */
  refreshMs = 1_500;

  constructor(private readonly hub: Hub) {}

  readonly verbs = {
    "registry.search": (params: Verbs["registry.search"]["params"]) => this.find(params),
    "registry.show": ({ name }: { name: string }) => {
      const { view, manifest } = this.get(name);
      return {
        server: this.withAdded(view),
        manifest,
        runtimes: RUNTIMES.filter((runtime) =>
          manifest.choices.some((choice) => choice.runtime === runtime.runtime),
        ),
      };
    },
    "registry.refresh": () => this.refresh(),
  };

  readManifest(source: ManifestSource): ManifestView {
    return "published" in source ? this.get(source.published).manifest : readManifest(source);
  }

  /** Loads the list, as if a person had loaded it `age` milliseconds ago. */
  fill(age: number): void {
    this.published = this.listed;
    this.state = {
      ...this.state,
      refreshed_at: Date.now() - age,
      complete: true,
      stale: age > DAY_MS,
      skipped: 2,
    };
  }

  private get(name: string): Published {
    const found = this.published.find(({ view }) => view.name === name);
    if (!found) throw new IpcError("not_found", `There is no server '${name}'.`);
    return found;
  }

  private withAdded(view: PublishedServerView): PublishedServerView {
    const urls = this.get(view.name).manifest.choices.map((choice) => choice.label);
    const added = this.hub.servers.filter((server) => urls.includes(server.spec.url ?? ""));
    return { ...view, added: added.map((server) => server.id) };
  }

  private find(params: Verbs["registry.search"]["params"]): FoundServers {
    const words = (params.text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (texts: string[], kinds: PublishedKind[], needsKey: boolean) =>
      words.every((word) => texts.join(" ").toLowerCase().includes(word)) &&
      (!params.kind || kinds.includes(params.kind)) &&
      (params.needs_secret ?? needsKey) === needsKey;
    const offset = params.offset ?? 0;
    const url = this.hub.settings.official_registry_url;
    const all = (url ? this.published : []).filter(({ view }) =>
      matches([view.name, view.title, view.description], view.kinds, view.needs_secret),
    );
    const end = offset + (params.limit ?? 30);
    const presets = PRESETS.filter((preset) =>
      matches(
        [preset.id, preset.title, preset.description],
        [preset.choice.runtime === "uvx" ? "pypi" : preset.choice.runtime ? "npm" : "remote"],
        preset.choice.inputs.some((input) => input.secret && input.required),
      ),
    );
    return {
      presets: offset > 0 ? [] : presets.map(({ id }) => ({ id, added: [] })),
      servers: all.slice(offset, end).map(({ view }) => this.withAdded(view)),
      total: all.length,
      next: end < all.length ? end : null,
      registry: { ...this.state, url },
    };
  }

  private async refresh(): Promise<OfficialRegistryView> {
    this.state = { ...this.state, refreshing: true, error: "" };
    this.hub.emit({ kind: "official_registry_changed" });
    await new Promise((resolve) => setTimeout(resolve, this.refreshMs));
    this.state.refreshing = false;
    if (this.failure) {
      this.state.error = this.failure;
      this.hub.emit({ kind: "official_registry_changed" });
      throw new IpcError("unavailable", this.failure);
    }
    this.fill(0);
    this.hub.emit({ kind: "official_registry_changed" });
    return this.state;
  }
}
