/** The command palette. */

export const palette = {
  title: "Command palette",
  placeholder: "Search pages, servers, tools, clients, rules and actions",
  results: "Results",
  noMatch: "Nothing matches. Try fewer letters, or the name of a server.",
  hint: "↑ ↓ to choose, Enter to open, Escape to close",
  groups: {
    pages: "Pages",
    actions: "Actions",
    servers: "Servers",
    tools: "Tools",
    clients: "Clients",
    rules: "Rules",
  },
  actions: {
    addServer: "Add server",
    importServers: "Import servers",
    addClient: "Add client",
    pause: "Pause all calls",
    resume: "Resume calls",
    theme: {
      system: "Use the system's theme",
      light: "Use the light theme",
      dark: "Use the dark theme",
    },
  },
};
