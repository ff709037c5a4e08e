/** Texts of the approval cards, the Approvals screen and the popup. */

import { phrase } from "../phrase";
import { plural } from "../plural";

export const approvals = {
  title: "Approvals",
  lead: "These calls wait for you. A call that nobody decides in time is denied.",
  waiting: (count: number) =>
    count === 1 ? "1 call waits for you." : `${count} calls wait for you.`,
  emptyTitle: "No calls wait.",
  emptyHint: (seconds: number) =>
    `Ask one of your clients to use a tool. If the tool's policy is Ask, the call waits here for ${seconds} seconds. You see its arguments and decide.`,
  missedTitle: "Missed",
  decidedTitle: "Decided",
  noDecisionsTitle: "No decisions yet.",
  noDecisionsHint: "Ask one of your clients to use a tool. Your decisions are listed here.",

  popup: {
    label: "Approval requests",
    title: "Approval request",
    more: (count: number) => (count === 1 ? "1 more waits" : `${count} more wait`),
    position: (at: number, count: number) => `${at} of ${count}`,
    previous: "Previous request",
    next: "Next request",
    emptyHint: "When a client wants to call a tool whose policy is Ask, you decide here.",
    resumeHint: "Resume calls in the main window or from the tray.",
  },

  wantsToCall: (client: string, tool: string, server: string) =>
    phrase`${client} wants to call ${tool} of ${server}`,
  timeLeft: "Time left to decide",
  secondsLeft: (seconds: number) => `${seconds} s`,
  callExpired: "You missed this call, so it was denied.",
  newToClient: "New to this client",
  changed: "Changed",
  description: {
    label: "The server's description of the tool",
    writtenByServer: "Written by the server",
    writtenByServerClaiming: "Written by the server, which claims:",
    noClaims: "no claims about what the tool changes",
    none: "no description",
  },

  arguments: {
    title: "Arguments",
    label: "Arguments of the call",
    extra: "Sent along with the arguments",
    raw: "Raw JSON",
    tooLargeForTree: "Too large for a tree.",
    notJson: (reason: string) => `Not plain JSON: ${reason}.`,
  },

  similar: {
    label: "Similar calls",
    position: (count: number) => `1 of ${count} similar calls`,
    decideAll: (count: number) => `Decide all ${count}…`,
  },

  batch: {
    label: (count: number, tool: string, server: string, client: string) =>
      `${count} calls of ${tool} on ${server} by ${client}`,
    wantsToCall: (client: string, tool: string, server: string, count: number) =>
      phrase`${client} wants to call ${tool} of ${server} ${plural(count, "time")}`,
    onlyThese: (count: number) =>
      `Your decision covers only ${count === 1 ? "this call" : `these ${count} calls`}. Later calls still wait for a decision.`,
    ended: (count: number) =>
      count === 1
        ? "1 of these calls has already ended."
        : `${count} of these calls have already ended.`,
    listLabel: (count: number) =>
      count === 1 ? "Arguments of the call" : `Arguments of all ${count} calls`,
    position: (at: number, count: number) => `${at} of ${count}`,
    sameArguments: (count: number) => `${count} calls with exactly these arguments`,
    decisionLabel: "Decision about all calls",
    scrollHint: "Scroll to the end of the list to approve.",
    deny: (count: number) => `Deny ${plural(count, "call")}`,
    denyStep: (count: number) => `Deny ${plural(count, "call")}…`,
    approve: (count: number) => `Approve ${plural(count, "call")}`,
    expired: "You missed these calls, so they were denied.",
    empty: "No calls are left to decide.",
  },

  change: {
    allowedBy: (rule: string) => phrase`It was allowed by “${rule}”.`,
    toolChanged: "Since then the tool has changed, so you are asked.",
    serverChanged: "Since then the server's command or URL has changed, so you are asked.",
    bothChanged:
      "Since then the server's command or URL has changed, and so has the tool, so you are asked.",
    toolChangedSinceAccepted: "The tool has changed since you accepted it, so you are asked.",
    acceptFirst:
      "Clients still see the accepted definition. To approve the tool for longer, accept the change on the Servers screen.",
    differences: "Differences in the tool",
  },

  decision: {
    label: "Decision",
    scrollHint: "Scroll to the end of the arguments to approve.",
    deny: "Deny",
    denyStep: "Deny…",
    edit: "Edit…",
    approveFor: "Approve for…",
    approveOnce: "Approve once",
    approveEdited: "Approve with these arguments",
    approveLonger: (client: string, tool: string, server: string) =>
      phrase`Approve this call, and later calls of ${tool} of ${server} by ${client},`,
    withTickedArguments: "if their arguments are as ticked",
    withAnyArguments: "whatever their arguments",
    approveLongerFor: ", for:",
    minutes15: "15 minutes",
    hour1: "1 hour",
    calls10: "10 more calls",
    session: "This session",
    always: "Always…",
  },

  always: {
    loading: "Checking past calls…",
    rule: "This rule applies until you delete it on the Policy screen:",
    asksAgain: "You are asked again if the tool or the server changes.",
    confirm: "Create rule and approve",
  },

  conditions: {
    title: "Only if",
    hint: "(an argument that is not ticked may have any value)",
    label: "Arguments that the approval depends on",
    choiceLabel: (key: string) => `Condition on ${key}`,
    exactText: "exactly this text",
    exactly: (value: string) => `exactly ${value}`,
    inFolder: (folder: string) => `in ${folder}`,
    onHost: (host: string) => `on the host ${host}`,
    duplicateKey: "The key is a duplicate.",
    isList: "The value is a list.",
    isObject: "The value is an object.",
    tooPrecise: "The number has more digits than this screen can pass on unchanged.",
  },

  deny: {
    reason: "Reason",
    reasonHint: "(optional; the model can read it)",
    withReason: (action: string) => `${action} with reason`,
  },

  edit: {
    label: "Arguments to send instead",
    format: "(JSON)",
    notObject: "Arguments are a JSON object: { … }.",
    errorAt: (line: number, column: number, reason: string) =>
      `Line ${line}, column ${column}: ${reason}.`,
    checkedOnApproval: "The tool's schema and your rules are checked when you approve.",
    diffTitle: "Changes",
    diffLabel: "Differences from the client's arguments",
    removed: "removed: ",
    added: "added: ",
    unchanged: "No changes yet. Edit the arguments above.",
  },

  result: {
    question: (tool: string, server: string, client: string) =>
      phrase`Show the result of ${tool} of ${server} to ${client}?`,
    hint: "The call has already run. You decide only whether the client gets its result.",
    title: "Result",
    contentLabel: "Result of the call",
    scrollHint: "Scroll to the end of the result to show it.",
    withhold: "Withhold result",
    withholdStep: "Withhold result…",
    show: "Show result",
    expired: "You missed this result, so it was withheld.",
  },

  missed: {
    lead: "You missed these calls, so they were denied. If you allow a retry, the same call runs without asking if it comes again within two minutes.",
    wantedToCall: (client: string, tool: string, server: string) =>
      phrase`${client} wanted to call ${tool} of ${server}`,
    timeLeft: "Time left to allow a retry",
    allowRetry: "Allow retry",
    allowRetryOf: (tool: string, client: string) => `Allow retry of ${tool} by ${client}`,
  },

  decided: {
    caption: "Decided calls, newest first",
    time: "Time",
    decision: "Decision",
    call: "Call",
    reason: "Reason",
    noReason: "–",
    outcome: "Outcome",
    waited: "Waited",
    toolOf: (tool: string, server: string) => phrase`${tool} of ${server}`,
  },
};
