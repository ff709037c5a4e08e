/** The frame of the window: the sidebar, the banners, and the screens before the first call. */
export const shell = {
  productName: "Drawbridge",
  windowTitle: (waiting: number) => (waiting > 0 ? `(${waiting}) Drawbridge` : "Drawbridge"),

  mainNavigation: "Main",
  pages: {
    approvals: "Approvals",
    servers: "Servers",
    clients: "Clients",
    policy: "Policy",
    calls: "Calls",
    audit: "Audit",
    logs: "Logs",
    settings: "Settings",
  },
  /** The nouns for the counts beside the links, for screen readers. */
  counts: {
    approvals: "waiting",
    servers: (count: number, needAttention: number) => {
      const noun = count === 1 ? "server" : "servers";
      if (needAttention === 0) return noun;
      return `${noun}, ${needAttention} ${needAttention === 1 ? "needs" : "need"} attention`;
    },
    clients: (count: number) => (count === 1 ? "client" : "clients"),
  },

  pauseAllCalls: "Pause all calls",
  resumeCalls: "Resume calls",
  allCallsPaused: "All calls are paused.",

  listening: "Listening",
  notListening: "Not listening",
  connecting: "Connecting…",
  notReachable: "Not reachable",
  connectionLost: "Drawbridge is not reachable. Trying again…",

  signedOut: {
    title: "This browser is not signed in.",
    howToSignIn:
      "To get a sign-in link, start the Drawbridge app or run this command in a terminal:",
    command: "drawbridge open",
  },

  welcome: {
    title: "Welcome to Drawbridge",
    lead: "One local door between your AI clients and your MCP servers. You see each tool call and decide which calls may run.",
    done: "(done)",
    server: {
      title: "Add a server",
      text: "Add an MCP server that your clients will use. Paste its JSON from any client, or enter its command or URL.",
      action: "Add server",
    },
    client: {
      title: "Connect a client",
      text: "Connect Claude Code, Cursor, LM Studio or any other client. It gets its own token and uses every server through Drawbridge.",
      action: "Add client",
    },
    call: {
      title: "Approve the first call",
      text: "Ask your client to use a tool. The call waits here until you have read its arguments and decided.",
    },
  },
};
