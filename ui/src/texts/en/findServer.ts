/** Texts of the tab that searches the presets and the official registry. */

import { plural } from "../plural";

export const findServer = {
  search: "Search",
  searchPlaceholder: "jira, postgres, calendar…",
  kind: "Kind",
  kinds: {
    all: "All kinds",
    npm: "npm",
    pypi: "PyPI",
    oci: "Container",
    nuget: "NuGet",
    mcpb: "MCP bundle",
    remote: "Remote",
    other: "Other",
  },
  withoutKey: "Usable without a key",
  presets: "Presets",
  registry: {
    title: "Official registry",
    found: (total: number) => plural(total, "server"),
    off: "The official registry is turned off. Enter its address in Settings to search it too.",
    offer: (host: string) =>
      `The official registry of the MCP project lists thousands of servers. Drawbridge has not asked for the list yet. If you load it, Drawbridge fetches it from ${host}, keeps a copy on this computer, and refreshes the copy when you open this tab, if the copy is older than a day. Your searches stay on this computer.`,
    load: "Load official registry",
    loading: "Loading the list of the official registry…",
    loadingFound: (count: number) =>
      `Loading the list of the official registry… ${plural(count, "matching server")} so far.`,
    refresh: "Refresh list",
    refreshed: (ago: string) => `Refreshed ${ago}.`,
    skipped: (count: number) => `${plural(count, "entry", "entries")} cannot be used.`,
    failed: "The list could not be refreshed.",
    nothing: "No published server matches. Use fewer or other words, or another kind.",
    more: "Show more servers",
    anybody:
      "Anybody can publish here. The registry checks who owns a name, but not what a server does. A server from here waits until you accept it.",
  },
  nothing: "No server matches. Use fewer or other words, or add the server with another tab.",
  needsKey: "Needs a key",
  deprecated: "Deprecated",
  cannotBeAdded: "Cannot be added",
  added: (ids: string[]) => `Added as ${ids.join(", ")}`,
  details: {
    loading: "Reading the entry of the registry…",
    publisher: "Publisher",
    version: "Version",
    updated: (ago: string) => `updated ${ago}`,
    source: "Source code",
    website: "Website",
    copyUrl: (label: string) => `Copy the address: ${label}`,
    deprecated: "Its publisher advises against this server.",
    added: (ids: string[]) => `You have added this server already, as ${ids.join(", ")}.`,
    pending:
      "Drawbridge starts nothing when you add this server. Its page shows what will run, and you accept it there.",
  },
};
