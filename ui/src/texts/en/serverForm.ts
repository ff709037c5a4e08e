/** Texts of the dialog that adds or edits a server. */

import { plural } from "../plural";
import { findServer } from "./findServer";

export const serverForm = {
  addTitle: "Add server",
  editTitle: (name: string) => `Edit ${name}`,
  tabsLabel: "How to add the server",
  tabs: { find: "Find", paste: "Paste", manifest: "Manifest", bundle: "Bundle", form: "Form" },
  verify: "Verify",
  verifying: "Connecting to the server and listing its tools…",
  waitForSaving: "Wait until the server is saved.",
  waitForVerification: "Wait until the server is verified.",
  add: "Add server",
  addSeveral: (count: number) => `Add ${plural(count, "server")}`,
  saveChanges: "Save changes",
  selectServer: "Select at least one server.",
  readTextFirst: "Paste a text and read it first.",
  chooseServerFirst: "Choose a server first.",
  readManifestFirst: "Read a manifest first.",
  chooseBundleFirst: "Choose a bundle first.",
  choiceUnusable: "This choice cannot be used. The form says why.",

  kind: {
    label: "Kind of server",
    local: "Local",
    localHint: "A program that Drawbridge starts",
    remote: "Remote",
    remoteHint: "A URL that Drawbridge connects to",
  },
  name: {
    label: "Name",
    placeholder: "filesystem",
    missing: "Enter a name, such as “filesystem”.",
  },
  url: {
    label: "URL",
    remotePlaceholder: "https://example.org/mcp",
    localPlaceholder: "http://127.0.0.1:3001/sse",
    remoteInvalid: "Enter the full URL, beginning with https:// or http://.",
    localInvalid:
      "Enter the full URL that the program listens on, such as http://127.0.0.1:3001/sse.",
    notOnThisMachine:
      "The program listens on this computer. Enter a URL such as http://127.0.0.1:3001/sse.",
  },
  transport: { label: "Transport", http: "Streamable HTTP", sse: "HTTP+SSE (legacy)" },
  command: {
    label: "Command line",
    hint: "The program and its arguments, with quotes around spaces.",
    placeholder: "npx -y @modelcontextprotocol/server-filesystem /home/me/Projects",
    missing: "Enter the command that starts the server.",
    parsed: "The program and its arguments",
  },
  workingFolder: {
    label: "Working folder",
    hint: "If empty, your home folder, or the server's own folder if a sandbox limits its files.",
  },
  listens: {
    label: "The program listens on a URL",
    hint: "Drawbridge starts the program and connects to that URL.",
  },
  sessions: {
    label: "Sessions",
    hint: "Choose “One per client” if the server remembers things between calls or asks the client questions.",
    shared: "One for all clients",
    perClient: "One per client",
  },

  variables: {
    label: "Environment",
    add: "Add variable",
    keyPlaceholder: "API_KEY",
    nameOf: (number: number) => `Name of variable ${number}`,
    valueOf: (number: number) => `Value of variable ${number}`,
    remove: (name: string) => `Remove variable ${name}`,
    noName: "A variable has a value but no name. Enter its name.",
    duplicate: (name: string) => `The variable ${name} is listed twice.`,
  },
  headers: {
    label: "Headers",
    add: "Add header",
    keyPlaceholder: "Authorization",
    nameOf: (number: number) => `Name of header ${number}`,
    valueOf: (number: number) => `Value of header ${number}`,
    remove: (name: string) => `Remove header ${name}`,
    noName: "A header has a value but no name. Enter its name.",
    duplicate: (name: string) => `The header ${name} is listed twice.`,
  },
  secret: {
    label: "Secret",
    storedSecret: "stored secret",
    replace: "Replace",
    replaceValueOf: (name: string) => `Replace the value of ${name}`,
    isSecret: (name: string) => `${name} is secret`,
    hint: "Secrets are stored in the secret store, never in the server's spec.",
    noValue: (name: string) => `The secret ${name} has no value.`,
  },

  oauth: {
    label: "OAuth client",
    ownClient: "registered by you",
    automatic: "Drawbridge registers itself",
    clientId: "Client ID",
    clientIdHint:
      "Only if the authorization server does not let programs register themselves. Register a client there with the redirect URI http://127.0.0.1/callback.",
    clientIdMissing: "Enter the client ID, or clear the other fields.",
    clientSecret: "Client secret",
    clientSecretHint:
      "Leave it empty if the client has none. It is stored in the secret store, never in the server's spec.",
    replaceSecret: "Replace the client secret",
    port: "Port of the redirect URI",
    portHint: "Only if the client was registered with a port. If empty, Drawbridge uses any port.",
    portInvalid: "Enter a port from 1 to 65535.",
  },

  paste: {
    label: "JSON or command line",
    hint: "The mcpServers part of any client's settings, the object of one server, or a command line. Nothing is saved yet.",
    placeholder: '{ "mcpServers": { "filesystem": { "command": "npx", "args": ["-y", "…"] } } }',
    read: "Read text",
    pasteFirst: "Paste a text first.",
    noServer:
      "This text contains no server. Paste the mcpServers part of a client's settings, or a command line.",
    skipped: (skipped: number, of: number) =>
      `${skipped} of ${of === 1 ? "1 entry" : `${of} entries`} cannot be added. The reason is below.`,
    isSkipped: "skipped",
    editInForm: "Edit in form",
    secret: "stored as a secret",
    plain: "plain text: stored in the spec file",
  },

  find: findServer,

  preset: {
    back: "Show all servers",
    checking: "Checking prerequisites…",
    noPrerequisites: "No prerequisites",
    needs: (runtime: string) => `Needs ${runtime}`,
  },

  manifest: {
    label: "Manifest",
    hint: "Paste a server.json of the MCP registry or a plugin.json, or enter the full path of such a file on the machine where Drawbridge runs. Nothing is saved or started yet.",
    placeholder: '{ "name": "io.github.owner/server", "packages": […] }',
    read: "Read manifest",
    pasteFirst: "Paste a manifest or enter its path first.",
    choices: "How to run the server",
    unusable: "cannot be used",
    connectsTo: "Connects to",
    starts: "Starts",
    cannotBeAdded: "This server cannot be added:",
    name: "Name",
    required: (name: string) => `${name} (required)`,
    kinds: {
      env: "environment variable",
      header: "header",
      argument: "argument",
      url: "part of the URL",
    },
    storedAsSecret: (kind: string) => `${kind}, stored as a secret`,
    onePerLine: "One per line.",
    chooseOne: "Choose one…",
    notSet: "Not set",
    storeAsSecret: "Store as a secret",
    valueMissing: "Enter a value.",
    notNumber: "Enter a number.",
    /** The range of allowed numbers; empty if there is no limit. */
    range: (min: number | null, max: number | null) => {
      if (min !== null && max !== null) return `from ${min} to ${max}`;
      if (min !== null) return `at least ${min}`;
      return max === null ? "" : `at most ${max}`;
    },
    outOfRange: (range: string) => `Enter a number: ${range}.`,
    rangeHint: (range: string) => `Allowed: ${range}.`,
    notAllowed: (value: string, allowed: string) =>
      `“${value}” is not allowed. Use one of: ${allowed}.`,
  },

  bundle: {
    label: "MCP bundle",
    hint: "A .mcpb file. It is checked, and nothing is unpacked or started yet. In a browser, the file may have at most 11 MiB; add a larger file in the desktop app or on the command line.",
    opening: "Checking the bundle…",
    cannotRead: (name: string) =>
      `${name} cannot be read. Check that the file still exists, then choose it again.`,
    file: "File:",
    retry: "Open again",
    by: "By",
    tools: "Announced tools",
    moreTools: "The bundle may have further tools.",
    needs: { node: "Needs Node.js", python: "Needs Python", uv: "Needs Python", binary: "Needs" },
    waits:
      "Nobody has checked who made this bundle. The server waits until you accept it on its page.",
  },

  advanced: {
    label: "Advanced",
    defaults: "defaults",
    changed: (count: number) => `${count} changed`,
    lifecycle: {
      label: "Lifecycle",
      singleton: "Keep one process running",
      singletonHint: "The process runs from the first request until the idle timeout.",
      transient: "Start a process for each call",
      transientHint: "For programs that keep no state between calls, or that leak memory.",
      remote: "Lifecycle: only for local servers, because Drawbridge does not start remote ones.",
    },
    programChanges: {
      label: "The program changes",
      hint: "The server's program and scripts may be replaced without asking you again. For a server that you develop.",
    },
    sandbox: {
      label: "Sandbox",
      presets: {
        off: "None",
        ownFolder: "Only its own folder",
        readProject: "Read my project, write nothing",
        noNetwork: "No network",
        custom: "Custom",
      },
      hints: {
        off: "The server may use every file, the network and every program that you may.",
        ownFolder:
          "The server reads and writes a folder that Drawbridge makes for it, and reads programs and settings of the system. It may use the network.",
        readProject:
          "The server reads the folders below, and writes only to a folder that Drawbridge makes for it. It may use the network.",
        noNetwork: "The server connects to nothing, but may use all your files.",
        custom: "The server may use what you allow here.",
      },
      enforced: "If the system cannot enforce this, the server does not start (Linux only).",
      filesLabel: "Files in the sandbox",
      files: {
        listed: "Its own folder, and what is listed here",
        all: "All my files",
      },
      networkLabel: "Network in the sandbox",
      network: {
        all: "The whole network",
        listed: "TCP on the listed ports, and UDP",
        none: "No network",
      },
      lists: {
        read: "May read",
        write: "May read and write",
        connect: "May connect to the ports",
        bind: "May listen on the ports",
      },
      listHints: {
        read: "Files and folders, one on each line",
        write: "Files and folders, one on each line",
        connect: "One port on each line",
        bind: "One port on each line",
      },
      sockets: {
        label: "Local sockets of other programs",
        hint: "Such as the session bus or Docker, which can do for the server what the sandbox forbids.",
      },
      relativePath: "Write whole paths, such as /srv/data or ~/project.",
      projectMissing: "Enter the folder of your project.",
      badPort: "A port is a number from 0 to 65535.",
      nothing: "This sandbox restricts nothing. Choose None, or remove a permission.",
    },
    visibility: {
      label: "What clients see",
      visible: "Every tool",
      visibleHint: "Clients list every tool of the server, which costs them tokens.",
      deferred: "Only tool search",
      deferredHint:
        "Clients do not list the server's tools. They find them with tool_search and call them with tool_call, so the list costs no tokens.",
    },
    definitions: {
      label: "New and changed definitions",
      ask: "Hide until I accept them",
      askHint:
        "Clients do not see a new or changed tool, prompt or instruction until you accept it.",
      keep: "Hide new, keep accepted definitions",
      keepHint:
        "Clients do not see a new definition until you accept it. They still see the accepted version of a changed definition. Each call of a changed tool asks you and shows the differences.",
      trust: "Accept all automatically",
      trustHint: "Drawbridge accepts every definition unread. Only for servers of your own.",
    },
    validate: {
      label: "Argument check",
      coercible: "Allow common conversions",
      coercibleHint:
        "Like the exact check, but a number, boolean, object or list may be written as text, and an optional argument may be null. Many servers accept that. Drawbridge does not change the arguments.",
      strict: "Match the schema exactly",
      strictHint:
        "Drawbridge rejects a call if its arguments do not match the tool's schema, before anybody is asked.",
      off: "Leave it to the server",
      offHint: "Drawbridge does not compare arguments with the schema. Your rules still apply.",
    },
    contentDefence: {
      label: "Suspicious texts",
      mark: "Flag them, and mark results as data",
      markHint:
        "Drawbridge flags instructions to a model, hidden characters and look-alike names, and adds a notice to flagged results that they are data. It changes no text and does not find everything.",
      ask: "Also ask me",
      askHint:
        "Flagged results also wait until you release them, and each flagged definition waits until you accept it on its own.",
      off: "Do not look for them",
      offHint: "Results and definitions pass unchecked.",
    },
    toolNames: {
      label: "Tool names",
      id: "Prefix with the server's ID",
      own: "Use another prefix",
      bare: "No prefix",
      prefixHint: (prefix: string) => `Clients see the tool “read” as “${prefix}__read”.`,
      bareHint:
        "Each tool keeps its name. If two servers have a tool of the same name, clients see the tool of the server that you accepted first.",
      prefix: "Prefix",
      prefixRules: "At most 32 letters, digits, - and single _, without _ at either end.",
      prefixPlaceholder: "files",
      prefixMissing: "Enter a prefix, or choose “No prefix”.",
      prefixCharacters: "Use at most 32 letters, digits, - and _.",
      prefixUnderscores: "Do not begin or end with _, and do not use __.",
    },
    allowedTools: {
      label: "Allowed tools",
      all: "All tools, including future ones",
      some: "Selected tools",
      hint: "Clients can neither see nor call the other tools.",
      noneHint: "No tool is selected: clients see no tool of this server.",
      notOffered: "not offered now",
      names: "Names of the selected tools",
      namesHint: "One per line, as the server names them.",
    },
    fallback: {
      label: "Fallback servers",
      hint: "If this server cannot be reached, Drawbridge tries the tool of the same name on these servers, in this order. It never repeats a call that may have been sent.",
      list: "Fallback servers in order",
      noOtherServer: "There is no other server.",
      allChosen: "All other servers are chosen already.",
      add: "Add server…",
      missing: "no such server",
      isFirst: "This is the first server.",
      isLast: "This is the last server.",
      moveUp: (server: string) => `Move ${server} up`,
      moveDown: (server: string) => `Move ${server} down`,
      remove: (server: string) => `Remove ${server}`,
    },
    revision: {
      label: "Protocol revision",
      hint: "Choose a revision only if the server announces one that it does not support.",
      automatic: "Detect automatically",
    },
    timeouts: {
      label: "Timeouts",
      seconds: "seconds",
      initialize: {
        label: "Start",
        hint: "From the start to the first answer. Give more time if the first start downloads the server.",
      },
      call: { label: "Call", hint: "From a call to its answer or its next progress." },
      total: {
        label: "Call in total",
        hint: "From a call to its answer, regardless of progress. If the timeout “Call” or the timeout of the tool is longer, that timeout applies.",
      },
      idle: {
        label: "Idle timeout",
        hint: "Stops the server after this time without a request or a subscription.",
      },
      ping: {
        label: "Health check",
        hint: "How often an idle server is pinged. 0 turns the check off. A server of MCP 2026-07-28 is not pinged.",
      },
      stop: { label: "Stop", hint: "How long the server may take to stop before it is killed." },
      retries: {
        label: "Retries after a failed start",
        hint: "With growing pauses. After that, the next call tries again.",
        unit: "times",
      },
    },
    toolTimeouts: {
      label: "Timeouts of single tools",
      hint: "Each replaces the timeout “Call” for one tool.",
      nameOf: (number: number) => `Name of tool ${number}`,
      namePlaceholder: "slow_tool",
      secondsOf: (tool: string) => `Seconds for tool ${tool}`,
      secondsPlaceholder: "seconds",
      remove: (tool: string) => `Remove the timeout of tool ${tool}`,
      add: "Add tool",
      nameMissing: "Enter the name of the tool, or remove the line.",
      duplicate: (tool: string) => `The tool ${tool} is listed twice.`,
      secondsMissing: (tool: string) => `Enter a number of seconds above 0 for ${tool}.`,
    },
    cache: {
      lists: "Cache time",
      listsHint:
        "How long the server's lists of tools, prompts and resources count as fresh. If empty, the time in Settings applies.",
      listsPlaceholder: "as in Settings",
      results: "Result cache",
      resultsHint:
        "How long Drawbridge may answer the same call from memory. Applies to resources, and to tools that the server marks read-only and idempotent, with the same arguments. If empty, results are not cached.",
    },
    notSeconds: "Enter a number of seconds, such as 30 or 0.5.",
    secondsZero: "Enter more than 0 seconds.",
    secondsTooMany: (maximum: number) => `Enter at most ${maximum.toLocaleString("en")} seconds.`,
    notCount: (maximum: number) => `Enter a whole number from 0 to ${maximum}.`,
  },
};
