/** Texts of the Hooks screen. */

import type { HookEffect, HookEvent, HookMode, OnFailure } from "../../ipc/bindings";
import { plural } from "../plural";

const events: Record<HookEvent, string> = {
  server_connected: "Server connected",
  server_disconnected: "Server disconnected",
  tool_requested: "Tool requested",
  tool_executed: "Tool executed",
};

const modes: Record<HookMode, string> = { observe: "Observes", blocking: "Blocks" };

const onFailure: Record<OnFailure, string> = {
  allow: "Continue as if the hook did not exist",
  deny: "Deny the call, or withhold its result",
};

const effects: Record<HookEffect, string> = {
  continued: "Changed nothing",
  changed_arguments: "Changed the arguments",
  denied: "Denied the call",
  replaced_result: "Replaced the result",
  failed: "Failed",
};

export const hooks = {
  title: "Hooks",
  lead: "Programs and webhooks that run when a server connects or a tool is called. They run from top to bottom.",
  add: "Add hook",
  emptyTitle: "No hooks yet.",
  emptyHint:
    "Add a program that writes each call to a file, or one that denies calls or masks their results.",
  loading: "Loading hooks…",
  events,
  modes,
  onFailure,
  effects,

  caption: "Hooks in the order in which they run",
  columns: {
    hook: "Hook",
    events: "Events",
    mode: "Mode",
    last: "Last run",
    enabled: "Enabled",
    actions: "Actions",
  },
  forEverything: "all servers and tools",
  forServer: (server: string) => `server ${server}`,
  forTool: (tool: string) => `tool ${tool}`,
  neverRun: "not run yet",
  failures: (failures: number, runs: number) => `${failures} of ${plural(runs, "run")} failed`,
  dropped: (count: number) => `${plural(count, "event")} dropped: the hook is too slow`,
  took: (duration: string) => `in ${duration}`,
  enable: (name: string) => `Run ${name}`,
  moveUp: (name: string) => `Move ${name} up`,
  moveDown: (name: string) => `Move ${name} down`,
  first: "This hook is the first one.",
  last: "This hook is the last one.",
  edit: "Edit…",
  editNamed: (name: string) => `Edit ${name}`,
  log: "Runs…",
  logNamed: (name: string) => `Runs of ${name}`,
  remove: "Remove…",
  removeNamed: (name: string) => `Remove ${name}`,
  runs: {
    title: (name: string) => `Runs of ${name}`,
    none: "This hook has not run since Drawbridge started.",
    caption: "Runs, newest first",
    time: "Time",
    event: "Event",
    effect: "Effect",
    took: "Took",
    trial: "trial",
    hint: "Drawbridge keeps the last 50 runs of each hook until Drawbridge ends.",
  },

  dialog: {
    name: "Name",
    namePlaceholder: "mask-tokens",
    events: "Runs on",
    mode: "Mode",
    observe: "Observe: calls never wait for the hook",
    blocking: "Block: the hook may deny or change a call, or replace its result",
    kind: "Kind",
    command: "Program",
    webhook: "Webhook",
    commandLine: "Program and arguments",
    commandHint: "Started without a shell. The event arrives as JSON on its standard input.",
    commandPlaceholder: "python3 /home/me/hooks/mask.py",
    url: "URL",
    urlHint: "https, or http on this computer. The event is sent with POST.",
    urlPlaceholder: "https://hooks.example.com/drawbridge",
    variables: "Environment variables",
    headers: "Headers",
    partsHint:
      "One per line, as NAME=VALUE. ${keyring:NAME} stands for a stored secret. Prefix a line with ! to store its value as a secret.",
    server: "Only this server",
    anyServer: "All servers",
    tool: "Only this tool",
    toolHint: "The server's own name of the tool. Leave the field empty for all tools.",
    timeout: "Timeout (ms)",
    onFailure: "If it fails",
    withResult: "Give the contents of results to this hook",
    withResultHint:
      "Without this, the hook gets only the outcome, the error message, the “_meta” of the result and its length.",
    save: "Save hook",
    nameMissing: "Enter a name, such as “mask-tokens”.",
    nameTaken: "A hook with this name exists. Choose another name.",
    noEvent: "Choose at least one event.",
    cannotBlock:
      "Drawbridge never waits for a hook on events of servers. Choose only events of tools, or the mode Observe.",
    noCommand: "Enter the program to start.",
    noUrl: "Enter the URL of the webhook.",
    badTimeout: "Enter 100 to 60000 milliseconds.",
    badPart: (line: string) => `“${line}” is not NAME=VALUE.`,
  },

  trial: {
    title: "Try it",
    lead: "Runs the hook as it is above on this payload. No call is affected.",
    event: "Event",
    payload: "Payload",
    run: "Run hook",
    running: "Running…",
    input: "Input of the hook",
    output: "Answer of the hook",
    noOutput: "The hook answered nothing, so it changes nothing.",
    outcome: (effect: string, duration: string) => `${effect} in ${duration}.`,
  },
};
