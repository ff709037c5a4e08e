/** Texts of the Servers screen. `form` has the texts of the dialog that adds or edits a server. */

import { ACCEPTANCE_STATE_LABELS } from "../../ipc/bindings";
import { plural } from "../plural";
import { serverForm } from "./serverForm";

/** The kinds of entries of a server's lists. */
const ENTRY_KINDS = {
  tools: "Tool",
  prompts: "Prompt",
  resources: "Resource",
  templates: "Resource template",
};

/** Returns a function that adds a count to the label of a tab, if the count is known. */
const counted = (label: string) => (count: number | null) =>
  count === null ? label : `${label} ${count}`;

export const servers = {
  /** A link that asks to add a server. */
  link: {
    filled:
      "A link filled in this form. It may come from a web page or another program. Check every field before you add the server. Drawbridge has saved and started nothing. The link asks for:",
    refusedTitle: "This link cannot be used",
    close: "Close",
    tooLong: "The link is too long. Ask its author for a shorter one, or add the server by hand.",
    malformed: "The link is not encoded correctly. Add the server by hand.",
    unknownPart: (key: string) =>
      `The link has a part that Drawbridge does not know: ${key}. Add the server by hand.`,
    twice: (key: string) => `The link has ${key} twice. Add the server by hand.`,
    hidden: (key: string) =>
      `The link has hidden or control characters in ${key}. Do not trust its author.`,
    commandOrUrl:
      "The link needs either a command or a URL, and arguments and variables only with a command.",
    notWebAddress: "The URL of the link has to begin with http:// or https://.",
    badVariable: "The link has a variable whose name is not valid. Add the server by hand.",
  },

  form: serverForm,

  title: "Servers",
  lead: "MCP servers that your clients can use. A server starts only after you accept it.",
  addServer: "Add server",
  /** A server that is part of Drawbridge, as a badge and in place of its command. */
  builtIn: "built in",
  empty: {
    title: "No servers yet.",
    text: "Import the servers that your clients have already, or add one: paste its JSON, or enter its command or URL. You can verify it before you save it.",
  },
  linkedServerGone: "This server no longer exists:",

  list: {
    label: "Servers",
    tools: (count: number) => plural(count, "tool"),
    toolsAndTokens: (tools: number, tokens: string) => `${plural(tools, "tool")}, ${tokens} tokens`,
    total: (tools: number, tokens: string) =>
      `${plural(tools, "tool")}, ${tokens} for a client that sees all`,
    definitionsNeedAcceptance: (count: number) =>
      count === 1 ? "1 definition needs acceptance" : `${count} definitions need acceptance`,
    fixBrokenSpec: "Fix the file. Drawbridge then reads it again.",
    groups: { attention: "Needs attention", on: "On", off: "Off" },
    id: "The id of this server, by which rules and profiles name it",
    search: "Search servers and tools",
    noMatch: "No server and no tool matches.",
    clearSearch: "Clear search",
    moreTools: (count: number) => `and ${plural(count, "more tool")}`,
    select: "Select…",
    selectHint: "Select several servers. Shift-click selects a range.",
    selectNamed: (name: string) => `Select ${name}`,
    selectAll: "Select all",
    endSelection: "Done",
  },

  bulk: {
    title: (count: number) => `${plural(count, "server")} selected`,
    clear: "Clear selection",
    enable: "Enable",
    disable: "Disable",
    restart: (count: number) => `Restart ${plural(count, "server")}`,
    noneToRestart:
      "None of these servers can be restarted: each is built in, disabled or not accepted.",
    policy: "Set policy…",
    policyHint:
      "“Set policy” creates a rule for each of these servers: for all its tools and all clients.",
    setPolicy: (effect: string) => `${effect}: all tools`,
    removePolicy: "Remove the server's rule",
    remove: (count: number) => `Remove ${plural(count, "server")}`,
    noneToRemove: "Built-in servers cannot be removed.",
    done: (done: number, all: number) =>
      done === all ? `Done for ${plural(all, "server")}.` : `Done for ${done} of ${all} servers.`,
  },

  /** The prompts, resources and templates of a server. */
  capabilities: {
    loading: "Loading the lists…",
    groups: { prompts: "Prompts", resources: "Resources", templates: "Resource templates" },
    policy: {
      prompts: "Policy of all prompts of this server, for all clients",
      resources: "Policy of all resources of this server, for all clients",
    },
    inherited: (effect: string) => `Default (${effect.toLowerCase()})`,
    effectHint: "The policy for requests of a client that has no rule of its own",
    neverSynced: "No lists yet. “Sync” starts the server and reads them.",
    none: {
      prompts: "This server lists no prompts.",
      resources: "This server lists no resources and no resource templates.",
    },
    mimeType: "Type:",
    hidden: "Clients do not see this entry, so it cannot be requested.",
    actions: { prompts: "Get prompt", resources: "Read resource", templates: "Read resource" },
    definitionKinds: { prompts: "prompt", resources: "resource", templates: "template" } as const,
  },

  /** The form that sends a request by hand. */
  call: {
    types: {
      string: "text",
      number: "number",
      integer: "whole number",
      boolean: "true or false",
      enum: "choice",
      object: "object",
      array: "list",
      json: "JSON",
    },
    optional: ", optional",
    missing: (name: string) => `Enter a value for ${name}.`,
    notJson: "This is not JSON. Put texts in quotes.",
    notObject: "Enter a JSON object, such as {}.",
    noArguments: "No arguments.",
    notSet: "not set",
    yes: "true",
    no: "false",
    jsonPlaceholder: "JSON",
    addItem: (name: string) => `Add to ${name || "list"}`,
    remove: "Remove",
    removeItem: (number: number, name: string) => `Remove item ${number} of ${name}`,
    asJson: "Arguments as JSON",
    showForm: "Show form",
    showJson: "Edit as JSON",
    throughPolicy:
      "Sent as the client `command-line`, through the policy as for any client. The call is recorded.",
    running: "Waiting for the answer. If the policy asks, approve the request first.",
    openApprovals: "Open approvals",
    result: {
      title: "Result",
      block: (number: number, all: number, name: string) =>
        `Part ${number} of ${all} of the result of ${name}`,
      ok: "answered",
      error: "error",
      took: (took: string) => `after ${took}`,
      showRaw: "Show JSON",
      showByType: "Show by type",
      copy: "Copy the result as JSON",
      save: "Save…",
      fileName: "result.json",
      cut: (shown: number, all: number) =>
        `The first ${shown.toLocaleString("en")} of ${all.toLocaleString("en")} characters.`,
      showMore: "Show more",
      image: (type: string) => `Image (${type})`,
      audio: (type: string) => `Audio (${type})`,
      binary: (type: string, bytes: number) =>
        `Data of type ${type || "unknown"}, about ${plural(bytes, "byte")}. “Save…” stores it with the result.`,
      link: "Resource",
      copyUri: "Copy the URI",
      empty: "The result is empty.",
    },
  },

  preflight: {
    lead: "Checks what the server needs to start, without starting it.",
    again: "Check again",
    running: "Checking prerequisites…",
    summary: (failures: number) =>
      failures === 0 ? "Nothing is missing." : `${plural(failures, "check")} failed.`,
    topics: {
      enabled: "Enabled",
      acceptance: "Acceptance",
      program: "Program",
      runtime: "Runtime",
      version: "Version",
      variables: "Variables",
      secrets: "Secrets",
      address: "Address",
      sign_in: "Sign-in",
      sandbox: "Sandbox",
    },
    statuses: { ok: "ok", warning: "warning", failure: "failed" },
  },

  specEditor: {
    lead: "The spec file of this server. Saving also accepts the spec, unless it would use secrets of other servers that you have not granted.",
    label: "Spec as JSON",
    unchanged: "Nothing has changed.",
    checking: "The spec is being checked.",
    fixFault: "Correct the fault first.",
    position: (line: number, column: number) => `Line ${line}, column ${column}:`,
    showFault: "Show line",
    unknown: "Drawbridge does not know these members. They are kept, and have no effect:",
    save: "Save spec",
    reset: "Discard changes",
    copy: "Copy the spec",
    saved: "The spec is saved and accepted.",
    savedPending: "The spec is saved. Check and accept the server above before it starts.",
  },

  /** The policy for a whole server. */
  policy: {
    label: (name: string) => `Policy of all tools of ${name}`,
    noRule: (effect: string) => `Default (${effect.toLowerCase()})`,
    rule: "Rule:",
    suspended: " (suspended until you accept the server)",
    noRuleText: "No rule for the whole server.",
    ownRules: (count: number) =>
      count === 1 ? "1 tool has its own rule." : `${count} tools have their own rules.`,
    showRules: "Show rules",
  },

  detail: {
    label: (name: string) => `Server ${name}`,
    enabled: "Enabled",
    builtIn:
      "This server is part of Drawbridge. It has no program and no spec file, and cannot be edited or removed.",
    sync: "Sync",
    restart: "Restart",
    verify: "Verify",
    edit: "Edit…",
    pin: "Pin version",
    literals: (places: string) =>
      `The server's file contains values that look like secrets, in plain text: ${places}.`,
    moveLiterals: "Store as secrets",
    remove: "Remove",
    acceptFirst: "Accept the server first.",
    floating: (packages: string) =>
      `No exact version: ${packages}. Another version may run at the next start. “Pin version” writes the version in use into the spec.`,
    programChanges: "The program and its scripts may be replaced without asking you again.",
    sandboxed: "sandbox",
    sandbox: {
      requested: "The server starts only in its sandbox.",
      enforced: (landlock: number, signals: boolean) =>
        `The sandbox is enforced by Landlock ${landlock} and seccomp.${signals ? "" : " This kernel cannot limit signals."}`,
    },
    enableFirst: "Enable the server first.",
    history: "History",
    tabsLabel: "Parts of the server's page",
    tabs: {
      tools: counted("Tools"),
      prompts: counted("Prompts"),
      resources: counted("Resources"),
      checks: counted("Checks"),
      spec: counted("Spec"),
      details: counted("Details"),
      log: counted("Log"),
    },
    tools: "Tools",
    noTokens: "found by search, so they cost no tokens",
    toolsNotListed: {
      notAccepted: "Accept the server to list its tools.",
      none: "This server lists no tools.",
      syncing: "Listing the tools…",
      never: "No tools listed yet. “Sync” starts the server and lists its tools.",
    },
    syncing: "syncing now",
    neverSynced: "never synced",
    synced: (ago: string, stale: boolean, failed: boolean) =>
      `synced ${ago}${stale ? ", stale" : ""}${failed ? ", last sync failed" : ""}`,
    excluded: "Excluded",
    excludedLead: "Clients do not see these entries of the server's lists.",
    access: "What it uses",
    facts: "Details",
    log: "Log",
  },

  accept: {
    changed: "This server changed since you accepted it",
    new: "This server is new",
    wouldRun: "Drawbridge would run this program as you.",
    wouldConnect: "Drawbridge would connect to this URL.",
    consequence:
      "Until you accept the server, it stays stopped and its “allow” rules are suspended.",
    differences: "Differences from what you accepted",
    foreignSecrets: "Secrets of other servers",
    grant: "Give this server the secret ",
    grantFirst: "This server would use secrets that are not its own. Check each one to grant it.",
    accept: "Accept server",
    unexpected: "If you did not expect this, remove the server instead.",
  },

  accessReport: {
    nothingYet: "Nothing is recorded yet. Drawbridge records the next run.",
    cannotRecord: "Only local servers on Linux can be recorded.",
    run: (ago: string, sandboxed: boolean, inProgress: boolean, current: boolean) =>
      `Recorded ${ago} ${sandboxed ? "in its sandbox" : "without a sandbox"}${inProgress ? ", still in progress" : current ? "" : ", before the server was changed"}`,
    record: "Record what it uses",
    recordHint: "Restarts the server, and records which files, addresses and programs it uses.",
    unavailable: "The run could not be recorded: ",
    nothing: "The server used no files but its own and the system's, and no network.",
    sections: {
      refused: "Refused by the sandbox",
      read: "Read",
      written: "Written",
      connected: "Connected",
      started: "Started programs",
    },
    files: {
      read: (path: string) => `read ${path}`,
      write: (path: string) => `write ${path}`,
    },
    severalFiles: (folder: string, count: number) => `${folder} (${count} files)`,
    addresses: {
      connect: (address: string, port: number) => `connect to ${address}, TCP port ${port}`,
      bind: (address: string, port: number) => `listen on ${address}, TCP port ${port}`,
      udp: (address: string, port: number) => `UDP to ${address}, port ${port}`,
      local_socket: (address: string) => `local socket ${address}`,
    },
    start: (path: string) => `start ${path}`,
    refusedCalls: {
      internet_socket: "use the network",
      local_socket: "use local sockets of other programs",
      other_socket: "use another kind of socket",
      io_uring: "use io_uring",
    },
    remarks: (summary: {
      omitted: number;
      elsewhere: number;
      unreadable: number;
      uses_io_uring: boolean;
    }) => [
      ...(summary.omitted
        ? [
            summary.omitted === 1
              ? "1 further address or program is left out."
              : `${summary.omitted} further addresses and programs are left out.`,
          ]
        : []),
      ...(summary.elsewhere
        ? [
            `${plural(summary.elsewhere, "use")} by processes in another root folder, such as a container, ${summary.elsewhere === 1 ? "is" : "are"} left out.`,
          ]
        : []),
      ...(summary.unreadable
        ? [
            `${plural(summary.unreadable, "use")} could not be read, because the process ended or is protected.`,
          ]
        : []),
      ...(summary.uses_io_uring ? ["A process used io_uring, so the report may lack files."] : []),
    ],
    proposal: "A sandbox that allows only these uses",
    localSockets:
      "The sandbox allows local sockets: the programs behind them can do for the server what the sandbox forbids.",
    excluded: "Used, but not allowed by this sandbox",
    reasons: {
      private: "private: it may hold keys or passwords, or start programs",
      too_broad: "too broad: much else is in it",
      system: "belongs to the system or to a program",
      own: "is in the server's own folder in a sandbox",
      missing: "no longer exists",
    },
    use: "Use this sandbox",
    useHint: "You see the difference, and accept it, before the server starts again.",
    isUsed: "The server has this sandbox already.",
  },

  status: {
    starting: "The server is starting…",
    waitsUntil: (time: string, left: string) =>
      `No new attempt until ${time} (${left} left). “Restart” tries now.`,
    nextCallTries: "The next call tries again. “Restart” tries now.",
  },

  transitions: {
    sessionOf: " · session of ",
    showFewer: "Show fewer",
    showAll: (count: number) => `Show all ${count}`,
    empty: "No history yet. It begins with the first session of this server.",
  },

  facts: {
    serverName: "Server name",
    notKnownYet: "not known yet",
    protocol: "Protocol",
    instructions: "Instructions",
    signedIn: "Signed in",
    process: "Process",
    starts: "Starts",
    startsCount: (count: number) => `${count} since Drawbridge started`,
    nonJsonRpc: "Other output",
    nonJsonRpcLines: (count: number) =>
      `${plural(count, "line")} on stdout ${count === 1 ? "was" : "were"} not JSON-RPC, and went to the log only`,
    specFile: "Spec file",
  },

  spec: {
    command: "Command",
    version: "Version",
    floating: "floating",
    noVersion: "Another version may run at the next start, because no exact version is named:",
    program: "Program",
    programNotFound: "not found",
    programChanges: "may change",
    hashOf: "SHA-256 of",
    linksTo: "links to",
    notReadable: "the file cannot be read",
    url: "URL",
    environment: "Environment",
    headers: "Headers",
    oauthClient: "OAuth client",
    callbackPort: (port: number) => `, port ${port}`,
    itsSecret: "; its secret is",
    storedSecret: "stored secret:",
    notOwn: "not this server's own",
    inSpecFile: "in the spec file",
    runsCommand: "runs a command as you",
    bearerToken: "Bearer token",
    requiredVariables: "Required variables",
    workingFolder: "Working folder",
    homeFolder: "your home folder",
    ownFolder: "its own folder",
    sandbox: "Sandbox",
    noSandbox: "none; it may use everything that you may use",
    sandboxFacts: {
      files: { all: "all your files", listed: "its own folder" },
      read: (paths: string) => `reads ${paths}`,
      write: (paths: string) => `reads and writes ${paths}`,
      network: {
        all: "the whole network",
        listed: "TCP on listed ports only, and UDP",
        none: "no network",
      },
      connect: (ports: string) => `connects to port ${ports}`,
      bind: (ports: string) => `listens on port ${ports}`,
      localSockets: "local sockets of other programs",
    },
    sessions: "Sessions",
    onePerClient: "one per client",
    transport: "Transport",
    revision: "Protocol revision",
    runtime: "Runtime",
    disabled: "Disabled",
    disabledText: "yes; it does not start until it is enabled",
    process: "Process",
    onePerCall: "one per call",
    timeouts: "Timeouts",
    retries: "Retries",
    visibility: "Tool list",
    deferred: "not listed; clients find the tools by search",
    definitions: "New definitions",
    definitionPolicy: {
      keep: "clients see a changed tool as you accepted it until you accept the change",
      trust: "accepted without asking you",
    },
    arguments: "Arguments",
    validation: {
      strict: "must match the tool's schema exactly",
      off: "are not checked against the tool's schema",
    },
    contentDefence: "Suspicious texts",
    contentDefenceLevel: {
      ask: "are flagged and wait for you",
      mark: "are flagged, and marked as data",
    },
    allowedTools: "Allowed tools",
    noTools: "none",
    prefix: "Name prefix",
    noPrefix: "none: clients see the bare names of its tools",
    fallback: "Fallback servers",
    cacheTtl: "Lists are fresh for",
    cacheResults: "Results are reused for",
    milliseconds: (count: number) => `${count} ms`,
  },

  usage: (memory: string, cpu: string, processes: number) =>
    `${memory} of memory, ${cpu} of one core, ${plural(processes, "process", "processes")}`,

  signIn: {
    title: "This server requires you to sign in",
    signInStep: "Sign in in your browser",
    tokenStep: "Drawbridge gets the token",
    running: (step: string) => `${step}…`,
    browserOpened:
      "Drawbridge opened your browser. If no page appeared, open this page within five minutes:",
    openInBrowser:
      "Open this page within five minutes, in a browser on the machine where Drawbridge runs:",
    openAgain: "Open page again",
    openPage: "Open page",
    copyUrl: "Copy the URL of the page",
    explanation:
      "You sign in in your browser, on a page of the server or of the service that it uses for sign-ins. Drawbridge stores the token as a secret and sends it only to this server. If you have a token already, edit the server and put the token into its Authorization header.",
    signIn: "Sign in",
    signOut: "Sign out",
    with: "with",
    expiresIn: (minutes: number) => `; the token expires in ${minutes} min`,
    expired: "; the token has expired: the next call refreshes it, or asks you to sign in again",
  },

  verified: {
    works: "The server works.",
    theServer: "The server",
    answered: (duration: string, tools: number) =>
      `answered in ${duration} and has ${plural(tools, "tool")}.`,
    protocol: "Protocol:",
    tools: "Its tools",
    excluded: (count: number) =>
      count === 1
        ? "Clients would not see this entry of its lists:"
        : "Clients would not see these entries of its lists:",
  },

  excluded: {
    kinds: ENTRY_KINDS,
    more: (count: number) => `and ${count} more`,
  },

  tool: {
    needsAcceptance: { new: "New: needs acceptance", changed: "Changed: needs acceptance" },
    tokens: (count: string) => `${count} tokens`,
    tokensInList: (tokens: string) => `${tokens} in a client's tool list`,
    policyOf: (name: string) => `Policy of ${name}`,
    defaultPolicy: (effect: string) => `Default (${effect.toLowerCase()})`,
    hidden: "Hidden from clients:",
    hiddenFromAll: "Clients do not see this tool, so it cannot be called.",
    call: "Call tool",
    writtenByServer: "The server wrote this text. The badges are its own claims.",
    noDescription: "No description.",
    exposedName: "Exposed name",
    cost: "Cost",
    digest: "Digest",
    loadingSchema: "Loading the input schema…",
    inputSchema: "Input schema",
    inputSchemaOf: (name: string) => `Input schema of ${name}`,
    history: "History",
  },

  definitionHistory: {
    loading: "Loading the versions…",
    firstVersion: "First version",
    changed: "Changed",
    offered: "offered now",
    notAccepted: "not accepted",
    seen: (firstSeen: string) => `first seen ${firstSeen}`,
    thenAccepted: (accepted: string) => `, accepted ${accepted}`,
  },

  unacceptedDefinitions: {
    title: (count: number) =>
      `${count === 1 ? "1 definition is" : `${count} definitions are`} new or changed since you accepted this server`,
    lead: (count: number) =>
      `Clients do not see ${count === 1 ? "the new version" : "the new versions"} until you accept ${count === 1 ? "it" : "them"}. The server wrote these texts and models will read them: check them for hidden instructions.`,
    kinds: {
      instructions: "Instructions",
      tool: ENTRY_KINDS.tools,
      prompt: ENTRY_KINDS.prompts,
      template: ENTRY_KINDS.templates,
      resource: ENTRY_KINDS.resources,
    },
    acceptanceState: ACCEPTANCE_STATE_LABELS,
    accept: "Accept",
    acceptNamed: (name: string) => `Accept ${name}`,
    acceptShown: (count: number) =>
      count > 1 ? `Accept ${count} shown definitions` : "Accept shown definition",
    unexpected:
      "If you did not expect this, accept nothing. Versions that you do not accept stay hidden.",
    loading: "Loading the differences…",
    changedAgain:
      "The definition changed again while Drawbridge read it. Sync the server to see the current definition.",
    otherIsAccepted: "Wait until the other definition is accepted.",
    waitForDifferences: "Wait until the differences are loaded.",
    justAppeared: "A definition has just appeared. Read it first.",
  },
};
