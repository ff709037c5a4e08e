/** Texts of the command palette. */

export const palette = {
  title: "Command palette",
  placeholder: "Search screens, servers, tools, clients, rules, calls, settings and actions",
  results: "Results",
  noMatch: "Nothing matches. Try fewer letters, or the name of a server.",
  hint: "↑ ↓ to choose, Enter to open, Escape to close",
  searchingCalls: "Searching calls…",
  groups: {
    recent: "Recent",
    screens: "Screens",
    actions: "Actions",
    servers: "Servers",
    tools: "Tools",
    clients: "Clients",
    rules: "Rules",
    settings: "Settings",
    connect: "Connect a client",
    calls: "Calls",
  },
  actions: {
    addServer: "Add server",
    importServers: "Import servers",
    addClient: "Add client",
    connectClient: "Connect a client",
    addRule: "Add rule",
    pause: "Pause all calls",
    pauseQuarterHour: "Pause all calls for 15 minutes",
    pauseHour: "Pause all calls for an hour",
    resume: "Resume calls",
    theme: {
      system: "Use the system's theme",
      light: "Use the light theme",
      dark: "Use the dark theme",
    },
  },
};
