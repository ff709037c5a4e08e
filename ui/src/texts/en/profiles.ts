/** Texts about profiles, on the Clients screen. */

import { plural } from "../plural";

export const profiles = {
  title: "Profiles",
  lead: "A profile limits which servers and tools a client sees. Fewer tools cost a model fewer tokens and distract it less.",
  add: "Add profile",
  addServerFirst: "Add a server first. A profile is a selection of servers.",
  columns: {
    profile: "Profile",
    servers: "Servers",
    tools: "Tools",
    clients: "Clients",
    actions: "Actions",
  },
  /** For example `5 tools, about 900 tokens`. */
  cost: (tools: number, tokens: string) => `${plural(tools, "tool")}, ${tokens}`,
  noClients: "none",
  inFolder: (folder: string) => `in ${folder}`,
  edit: "Edit…",
  editNamed: (name: string) => `Edit ${name}`,
  remove: "Remove…",
  removeNamed: (name: string) => `Remove ${name}`,
  empty: "No profiles yet. Every client sees all servers and tools; add a profile to limit that.",

  confirmRemove: {
    title: (name: string) => `Remove ${name}?`,
    action: "Remove profile",
    clientsSeeNothing: (clients: string) =>
      `${clients} will see nothing until you choose another profile, or “Everything”, for them.`,
    folderIsOpen: (folder: string) =>
      `Clients that work in ${folder} are no longer limited to this profile there.`,
  },

  dialog: {
    nameIsFixed:
      "The name of a profile cannot change. Your changes apply immediately, also to open sessions.",
    name: "Name",
    namePlaceholder: "writing",
    servers: "Servers",
    folder: "Project folder (optional)",
    folderHint:
      "A client that works in this folder or below it sees only the servers of this profile. In a rule, $project stands for the folder.",
    folderPlaceholder: "/home/me/src/website",
    serverGone: "This server no longer exists.",
    save: "Save profile",
    nameMissing: "Enter a name, such as “writing”.",
    nameTaken: "A profile with this name exists. Edit that profile, or choose another name.",
    noServers: "Choose at least one server. A client with an empty profile would see nothing.",
  },

  server: {
    foundBySearch: "found by search, no tokens",
    toolsOf: "Tools of",
    allTools: "All tools, including future ones",
    selectedTools: "Selected tools",
    tokens: (count: string) => `${count} tokens`,
    notVisible: "not visible to clients now",
    toolsUnknown:
      "The tools of this server are not known yet. Sync the server, or choose all tools.",
  },
};
