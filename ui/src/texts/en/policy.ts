/** Texts of the Policy screen. */

import type { RequestKind } from "../../ipc/bindings";
import { plural } from "../plural";

/** The noun for a request: only a `tools/call` is named a call. */
type Noun = "call" | "request";

const didYouMean = (similar: string | null) =>
  similar === null ? "" : ` Did you mean “${similar}”?`;

export const policy = {
  title: "Policy",
  lead: "Which calls and other requests run without asking, which wait for you, and which are denied.",
  importRules: "Import rules…",
  exportRules: "Export rules…",
  addRule: "Add rule",

  rules: {
    title: "Rules",
    lead: "Deny takes precedence over allow, and allow over ask. A default applies to requests that no rule matches.",
    imported: (count: number) => `Imported ${plural(count, "rule")}.`,
    linkedRuleGone: "This rule was deleted or has expired.",
    suspended:
      "Suspended: the tool or server changed. This rule applies again when you accept the change.",
    edit: "Edit…",
    editNamed: (rule: string) => `Edit the rule: ${rule}`,
    delete: "Delete",
    deleteNamed: (rule: string) => `Delete the rule: ${rule}`,
    empty:
      "No rules yet. Add a rule, choose a policy for a tool of a server, or approve a call for longer than once.",
    search: "Search rules",
    sort: "Sort by",
    sorts: { created: "Oldest first", newest: "Newest first", effect: "Effect", server: "Server" },
    anyServer: "All servers",
    noneFound: "No rule matches the search.",
    found: (found: number, total: number) => `${found} of ${plural(total, "rule")}`,
    enabled: (rule: string) => `Enabled: ${rule}`,
    disabled: "Off: this rule matches nothing.",
    untilDeleted: "until you delete it",
    untilSessionEnds: "until the session ends",
    left: (left: number, total: number, noun: Noun) => `${left} of ${total} ${noun}s left`,
  },

  defaults: {
    title: "Defaults",
    lead: "Each default applies to the requests of its kind that no rule matches.",
    meanings: {
      tools: "A client calls a tool of a server, or follows a task that a call started.",
      prompts: "A client gets a prompt of a server, or completions for its arguments.",
      resources:
        "A client reads or watches a resource of a server, or gets completions for its URI.",
      sampling: "A server asks for a message from the client's model.",
      elicitation: "A server asks you for input, in the client.",
      roots: "A server asks for the client's folders.",
    } satisfies Record<RequestKind, string>,
    confirmAllow: {
      title: "Allow all calls by default?",
      text: "Calls of all tools of all servers, also of servers that you add later, then run without asking, unless a rule denies them or asks.",
      action: "Allow all calls",
    },
  },

  presets: {
    title: "Presets",
    lead: "In one step, a preset replaces the default for tools, and the rules that allow or ask about whole servers. It also deletes the rules that deny a whole server that the preset asks about. All other rules still apply.",
    ask_all: {
      title: "Ask about everything",
      text: "Each call waits for you, unless another rule, such as a rule for its tool or its client, says otherwise.",
      servers: "",
    },
    ask_writes: {
      title: "Ask about everything except read-only tools of trusted servers",
      text: "Tools that a trusted server marks read-only run without asking. All other calls wait for you.",
      servers: "Trusted servers",
    },
    ask_listed: {
      title: "Ask only about selected servers",
      text: "Calls to the selected servers wait for you. All other calls run without asking, also calls to servers that you add later.",
      servers: "Selected servers",
    },
    noServers: "No servers yet. Add a server first.",
    chooseServers: "Choose at least one server.",
    apply: "Apply preset…",
    applied: (preset: string) => `Applied “${preset}”.`,
    confirm: {
      title: (preset: string) => `Apply “${preset}”?`,
      action: "Apply preset",
      chosen: (label: string) => `${label}:`,
      effect:
        "Drawbridge deletes the rules that allow or ask about a whole server or all servers, and the rules that deny a whole server that the preset asks about. All other rules stay, such as rules for single tools, clients or users.",
    },
  },

  stats: {
    title: "How often you are asked",
    lead: "In the last two weeks.",
    loading: "Loading stats…",
    partial: "There were too many requests to count all of them. Older requests are missing here.",
    requestsPerDay: "Approval requests per day",
    approved: "Approved",
    denied: "Denied",
    missed: "Missed",
    day: "Day",
    suggestedRules: "Suggested rules",
    suggestionReason: (approved: number, matched: number) =>
      `You approved ${plural(approved, "call")} that this rule matches. The rule would have matched ${plural(matched, "past call")} in all.`,
    dismiss: "Dismiss",
    dismissNamed: (rule: string) => `Dismiss: ${rule}`,
    addRule: "Add rule",
    addRuleNamed: (rule: string) => `Add rule: ${rule}`,
  },

  dialog: {
    addTitle: "Add rule",
    editTitle: "Edit rule",
    client: "Client",
    anyClient: "Any client",
    user: "User",
    anyUser: "Any user",
    userHint: "Covers each client that belongs to this user.",
    server: "Server",
    anyServer: "Any server",
    tool: "Tool",
    anyTool: "Any tool",
    chooseServerFirst: "Choose a server first.",
    readOnlyTools: "Only tools that the server marks read-only",
    covers: "Covers",
    coversHints: {
      everything: "All requests of every kind. Only a deny can cover everything.",
      sampling: "Requests of the server for messages from the client's model.",
      elicitation: "Requests of the server for your input, in the client.",
      roots: "Requests of the server for the client's folders.",
    },
    effect: {
      label: (noun: Noun) => `Effect on the ${noun}`,
      allow: (noun: Noun) => `Allow the ${noun}`,
      deny: (noun: Noun) => `Deny the ${noun}`,
      ask: "Ask me",
      choose: "Choose an effect",
      none: "None: leave it to other rules",
      missing: (noun: Noun) => `Choose an effect on the ${noun} or on the result.`,
    },
    result: {
      label: "Effect on the result",
      none: "None: pass the result on",
      mask: "Mask secrets in the result",
      hold: "Show me the result first",
      deniedHint: (noun: Noun) => `A denied ${noun} has no result.`,
    },
    conditions: "Conditions",
    allConditions: "(all must match)",
    conditionHints: {
      prompts: "Conditions apply to the params of the request, such as /name or /arguments/city.",
      resources: "Conditions apply to the params of the request, such as /uri.",
      sampling: "Conditions apply to the params of the request, such as /maxTokens.",
      elicitation: "Conditions apply to the params of the request, such as /message.",
      roots:
        "Conditions apply to the params of the request. A request for folders usually has no params.",
    },
    addCondition: "Add condition",
    lifetime: {
      label: "How long the rule applies",
      untilDeleted: "Until I delete it",
      until: "For a number of minutes",
      calls: (noun: Noun) => `For a number of ${noun}s`,
      session: "Until the session ends",
      minutesLabel: "Minutes",
      callsLabel: (noun: Noun) => (noun === "call" ? "Calls" : "Requests"),
      minutesError: "Enter a whole number of minutes, at least 1.",
      callsError: (noun: Noun) => `Enter a whole number of ${noun}s, at least 1.`,
    },
    note: { label: "Note", hint: "Optional: why this rule exists." },
    pastCalls: "Past calls",
    checkingPastCalls: "Checking past calls…",
    completeFormFirst: "Complete the form to see which past calls the rule would have matched.",
    suspended:
      "This rule is suspended because its server or tool changed. If you save it, it applies to the changed server and tool.",
    warnings: {
      allowsAllTools: "This rule lets calls of all tools of all servers run without asking.",
      unknownServer: (server: string, similar: string | null) =>
        `There is no server with the id “${server}”.${didYouMean(similar)}`,
      unknownTool: (server: string, tool: string, similar: string | null) =>
        `The server “${server}” has no tool “${tool}”.${didYouMean(similar)}`,
    },
    save: "Save rule",
    saveAnyway: "Save rule anyway",
  },

  condition: {
    argument: (number: number) => `Condition ${number}: argument`,
    argumentPlaceholder: "/path",
    predicate: (number: number) => `Condition ${number}: predicate`,
    values: (number: number) => `Condition ${number}: values`,
    minimum: (number: number) => `Condition ${number}: minimum`,
    minimumPlaceholder: "from",
    maximum: (number: number) => `Condition ${number}: maximum`,
    maximumPlaceholder: "to",
    value: (number: number) => `Condition ${number}: value`,
    remove: (number: number) => `Remove condition ${number}`,

    predicates: {
      equals: {
        label: "is",
        hint: "Type text without quotes. Use quotes if it looks like a number, true, false or null.",
      },
      one_of: {
        label: "is one of",
        hint: "One value per line. Use quotes if a text looks like a number, true, false or null.",
      },
      path_within: {
        label: "is a path in",
        hint: "The full path of a folder, or $project for the project folder in which the client works. The condition matches this folder and every path in it, after “..” and links are resolved.",
      },
      host: {
        label: "is a URL of",
        hint: "A host such as example.com, or *.example.com for each host below it.",
      },
      between: {
        label: "is between",
        hint: "The range includes both ends. Leave one end empty for an open range.",
      },
      matches: {
        label: "fits the pattern",
        hint: "A regular expression that has to match the whole text.",
      },
    },

    argumentMissing: "Enter the name of the argument after the /, such as /path.",
    argumentStart: (pointer: string) => `Start with /, such as /${pointer}.`,
    argumentEscape: "In a key, write ~ as ~0 and / as ~1.",
    noValues: "Enter at least one value.",
    notFullPath: "Enter the full path of the folder, such as /home/ada/Projects.",
    notHost: "Enter only the host, without https://, port or path.",
    noPattern: "Enter a pattern. .* matches any text.",
    noBounds: "Enter a minimum, a maximum or both.",
    notNumber: (text: string) => `“${text}” is not a number.`,
    boundsReversed: "The minimum is greater than the maximum.",
  },

  export: {
    title: "Export rules",
    content:
      "The file contains the defaults and all rules, except rules for a single session. The file contains no secrets, but it may contain paths and names.",
    file: "Exported rules",
    fileName: "drawbridge-rules.json",
    copy: "Copy the rules",
    download: "Download file",
  },

  import: {
    title: "Import rules",
    fromFile: "Choose a file",
    paste: "Or paste its content",
    pasteHint:
      "Drawbridge imports all rules of the file, or none if one is invalid. If you add them, a rule without conditions replaces a current rule without conditions for the same calls.",
    current: "What happens to the current rules",
    add: (count: number) =>
      count === 0
        ? "Add the imported rules"
        : `Add the imported rules to the ${plural(count, "current rule")}`,
    replace: "Replace all current rules, and the defaults if the file has any",
    confirmReplace: (count: number) =>
      `This deletes all ${plural(count, "current rule")}, including rules that deny. Press “Replace all rules” to confirm.`,
    chooseFirst: "Choose a file or paste its content first.",
    addButton: "Import rules",
    replaceButton: "Replace all rules…",
    confirmButton: "Replace all rules",
  },
};
