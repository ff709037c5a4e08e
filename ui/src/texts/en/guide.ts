/** Texts of the guide for the first run. */

import { plural } from "../plural";

export const guide = {
  title: "Welcome to Drawbridge",
  lead: "One local gateway between your AI clients and your MCP servers. You see each tool call and decide which calls may run.",
  progress: (done: number, all: number) => `${done} of ${all} steps done`,
  done: "Done",
  skipped: "Skipped",
  skip: "Skip",
  skipStep: (step: string) => `Skip: ${step}`,
  show: "Show",
  showStep: (step: string) => `Show: ${step}`,
  nextStep: (step: string) => `Next step of the guide: ${step}.`,
  continue: "Continue with the guide",
  close: "Close the guide",
  open: "Show the guide",

  servers: {
    title: "Add your servers",
    searching: "Looking for servers in your clients' files…",
    found: (servers: number, clients: number) =>
      `${plural(servers, "server")} found in the files of ${plural(clients, "client")}. Drawbridge can import them: each runs once for all clients, and its secrets move to the secret store.`,
    noneFound: "No servers were found in the files of your clients.",
    noneImportable:
      "No servers can be imported from the files of your clients. On the Servers screen, “Import from clients…” shows the reasons.",
    searchFailed:
      "The files of your clients could not be searched. To try again, choose “Import from clients…” on the Servers screen.",
    import: "Import…",
    addPreset: (preset: string) => `Add ${preset}`,
    presetHint: (description: string) =>
      `To begin with, add this server. Everything that it needs is installed. ${description}`,
    addOther: "Add a server…",
    added: (count: number) => `${plural(count, "server")} added.`,
    waiting: (count: number) =>
      `${plural(count, "server")} ${count === 1 ? "waits" : "wait"} for you to accept what ${count === 1 ? "it starts" : "they start"}.`,
    openServers: "Open Servers",
  },
  clients: {
    title: "Connect a client",
    found: "Found on this computer:",
    none: "No known client was found on this computer. Choose yours on the Clients screen, or add it by hand.",
    connected: (names: string) => `${names} connected.`,
    connect: (client: string) => `Connect ${client}…`,
    other: "Other clients",
  },
  call: {
    title: "Approve the first call",
    ask: (client: string, tool: string) =>
      `Ask ${client} to use the tool ${tool}, or press “Try it”. The call then waits here for your decision.`,
    askPlain: "Ask your client to use a tool. The call then waits here for your decision.",
    needsServer: "First, add a server that has a tool.",
    waitForTools: (server: string) => `Waiting for the tools of ${server}…`,
    openServer: "Open the server",
    needsClient: "“Try it” needs a connected client.",
    tool: "Tool",
    arguments: "Arguments (JSON)",
    loadingArguments: "Loading the arguments of the tool…",
    badArguments: "This is not a JSON object.",
    tryIt: "Try it",
    trying: (client: string) =>
      `${client}'s entry was started and calls the tool. Look at the approval card above, and decide.`,
    result: (ms: string) => `The tool answered after ${ms}:`,
    failed: "The call did not succeed:",
    done: "You have approved a call. From now on, every call is decided here or by the policy.",
  },
};
