/** Texts of the window's frame: the sidebar, banners, the close dialog and the sign-in screen. */

export const shell = {
  productName: "Drawbridge",
  /** `page` is empty until the window knows its first page. */
  windowTitle: (waiting: number, page: string) =>
    `${waiting > 0 ? `(${waiting}) ` : ""}${page === "" ? "" : `${page} – `}Drawbridge`,

  mainNavigation: "Main",
  pages: {
    overview: "Overview",
    approvals: "Approvals",
    servers: "Servers",
    clients: "Clients",
    policy: "Policy",
    hooks: "Hooks",
    calls: "Calls",
    memory: "Memory",
    audit: "Audit",
    logs: "Logs",
    settings: "Settings",
  },
  /** The nouns for the counts beside the links, for screen readers. */
  counts: {
    approvals: "waiting",
    missed: "missed",
    servers: (count: number, needAttention: number) => {
      const noun = count === 1 ? "server" : "servers";
      if (needAttention === 0) return noun;
      return `${noun}, ${needAttention} ${needAttention === 1 ? "needs" : "need"} attention`;
    },
    clients: (count: number, needAttention: number) => {
      const noun = count === 1 ? "client" : "clients";
      if (needAttention === 0) return noun;
      return `${noun}, ${needAttention} ${needAttention === 1 ? "file needs" : "files need"} attention`;
    },
  },

  pauseAllCalls: "Pause all calls",
  resumeCalls: "Resume calls",
  allCallsPaused: "All calls are paused.",
  allCallsPausedUntil: (time: string, left: string) =>
    `All calls are paused until ${time} (${left}).`,
  /** Choices of when paused calls resume by themselves. */
  pauseFor: {
    label: "When calls resume",
    quarterHour: "Resume in 15 minutes",
    hour: "Resume in an hour",
    noEnd: "Keep paused",
  },

  listening: "Listening",
  notListening: "Not listening",
  connecting: "Connecting…",
  notReachable: "Not reachable",
  connectionLost: "Drawbridge is not reachable. Trying again…",
  screenFailed: "This screen could not be loaded, because Drawbridge did not answer.",
  reload: "Reload page",

  close: {
    title: "Close the window?",
    ifYouQuit: (endsHub: boolean) =>
      endsHub
        ? "If you quit, clients can no longer use your servers."
        : "If you quit, this computer no longer shows the calls that wait for you.",
    keepRunning: "Close and keep running",
    quit: "Quit Drawbridge",
  },
  /** How to reopen the app on a desktop without a tray. */
  reopenHint: {
    noTray: "Your desktop shows no tray icons.",
    toOpen:
      "Drawbridge also runs without a window. To see its screens, start Drawbridge again, or run",
    command: "drawbridge open",
    inTerminal: "in a terminal.",
    showsPending: "shows the pending calls.",
    confirm: "Got it",
  },

  signedOut: {
    title: "This browser is not signed in.",
    howToSignIn: "Use the Drawbridge app, or run this command in a terminal to get a sign-in link:",
    command: "drawbridge open",
    code: "Or enter the code that the command shows",
    signIn: "Sign in",
  },
};
