/** Texts of the approval cards, the Approvals screen and the popup. */

import type { GuardedMethod } from "../../ipc/bindings";
import { phrase, type Phrase } from "../phrase";
import { plural } from "../plural";

/** The noun for a request: only a `tools/call` is named a call. */
type Noun = "call" | "request";

/** Names the sender and its request. `name` is the tool, prompt or resource. */
type Sentence = (client: string, server: Phrase, name: string) => Phrase;

/** Returns the sentences of `GuardedMethod::sentence` in the hub, with "wants" or "wanted". */
function toSentences(wants: Phrase): Record<GuardedMethod, Sentence> {
  const followTask: Sentence = (client, server, name) =>
    phrase`${client} ${wants} to follow a task of ${name} of ${server}`;
  const updateTask: Sentence = (client, server, name) =>
    phrase`${client} ${wants} to answer a task of ${name} of ${server}`;
  const cancelTask: Sentence = (client, server, name) =>
    phrase`${client} ${wants} to cancel a task of ${name} of ${server}`;
  return {
    "tools/call": (client, server, name) => phrase`${client} ${wants} to call ${name} of ${server}`,
    "prompts/get": (client, server, name) =>
      phrase`${client} ${wants} the prompt ${name} of ${server}`,
    "resources/read": (client, server, name) =>
      phrase`${client} ${wants} to read ${name} of ${server}`,
    "resources/subscribe": (client, server, name) =>
      phrase`${client} ${wants} to watch ${name} of ${server}`,
    "completion/complete": (client, server, name) =>
      phrase`${client} ${wants} completions for ${name} of ${server}`,
    "tasks/get": followTask,
    "tasks/update": updateTask,
    "tasks/cancel": cancelTask,
    "tasks/result": followTask,
    "tasks/list": followTask,
    "sampling/createMessage": (client, server) =>
      phrase`${server} ${wants} a message from ${client}'s model`,
    "elicitation/create": (client, server) =>
      phrase`${server} ${wants} to ask you for input in ${client}`,
    "roots/list": (client, server) => phrase`${server} ${wants} to know the folders of ${client}`,
  };
}

/** The texts of a card for several similar requests. */
function toBatchTexts(noun: Noun) {
  return {
    repeated: (sentence: Phrase, count: number) => phrase`${sentence} ${plural(count, "time")}`,
    several: (count: number) => phrase`Decide ${plural(count, noun)} together`,
    needOwnCard: (count: number) =>
      count === 1
        ? `1 of these ${noun}s needs a decision of its own. If you approve, it keeps waiting:`
        : `${count} of these ${noun}s need decisions of their own. If you approve, they keep waiting:`,
    contentLabel: (count: number) => `What you approve: ${plural(count, noun)}`,
    onlyThese: (count: number) =>
      `Your decision covers only ${count === 1 ? `this ${noun}` : `these ${count} ${noun}s`}. Later ${noun}s still wait for a decision.`,
    ended: (count: number) =>
      count === 1
        ? `1 of these ${noun}s has already ended.`
        : `${count} of these ${noun}s have already ended.`,
    position: (at: number, count: number) => `${at} of ${count}`,
    decisionLabel: `Decision about all ${noun}s`,
    scrollHint: "Scroll to the end of the list to approve.",
    deny: (count: number) => `Deny ${plural(count, noun)}`,
    denyButton: (count: number) => `Deny ${plural(count, noun)}…`,
    approve: (count: number) => `Approve ${plural(count, noun)}`,
    expired: `You missed these ${noun}s, so they were denied.`,
  };
}

export const approvals = {
  title: "Approvals",
  lead: "These calls wait for you. A call that nobody decides in time is denied.",
  waiting: (count: number) =>
    count === 1 ? "1 call waits for you." : `${count} calls wait for you.`,
  emptyTitle: "No calls wait.",
  emptyHint: (seconds: number) =>
    `Ask one of your clients to use a tool. If the tool's policy is Ask, the call waits here for ${seconds} seconds. You see its arguments and decide.`,
  tabs: {
    label: "Approvals by state",
    pending: (count: number) => (count ? `Pending (${count})` : "Pending"),
    decided: () => "Decided",
    missed: (count: number) => (count ? `Missed (${count})` : "Missed"),
  },
  noDecisionsTitle: "No decisions yet.",
  noDecisionsHint: "Ask one of your clients to use a tool. Your decisions are listed here.",

  queue: {
    label: "Calls that wait for you",
    detailLabel: "Details and decision",
    /** `count` says how many calls wait. */
    arrived: (sentence: string, count: string) => `${sentence}. ${count}`,
    selectAll: "Select all",
    selected: (count: number) => `${count} selected`,
    select: (sentence: string) => `Select: ${sentence}`,
    failed: "Not decided",
    result: "Result",
    form: "Form",
    first: "New",
    /** The keys of the list and its card. */
    keys: [
      { keys: ["↑", "↓", "J", "K"], does: "move" },
      { keys: ["Space"], does: "select" },
      { keys: ["Ctrl+A"], does: "select all" },
      { keys: ["Enter"], does: "go to the card" },
      { keys: ["A"], does: "approve once" },
      { keys: ["D"], does: "deny" },
      { keys: ["E"], does: "edit" },
    ],
  },

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

  sentences: toSentences([{ text: "wants", isValue: false }]),
  pastSentences: toSentences([{ text: "wanted", isValue: false }]),
  /** A server with its id, because several servers may have the same name. */
  serverWithId: (name: string, id: string) => phrase`${name} (ID ${id})`,
  changedByHooks: (hooks: string) =>
    `The hook ${hooks} changed the arguments that the client sent.`,
  inProject: (folder: string) => `The client works in the project folder ${folder}.`,
  sentByServer:
    "The server sends this request to the client. If you approve it, the client answers.",
  sentToProvider:
    "The client has no model for this request. If you approve it, your sampling provider gets the messages below and answers, and the server gets the answer.",
  answeredBy: "Answered by",
  bridgedSampling: (answeredBy: string, client: string, server: Phrase) =>
    phrase`${server} wants a message from ${answeredBy}, for ${client}`,
  missedSampling: (answeredBy: string, client: string, server: Phrase) =>
    phrase`${server} wanted a message from ${answeredBy}, for ${client}`,
  form: {
    sentence: (client: string, server: Phrase) =>
      phrase`${server} asks you for input, for ${client}`,
    lead: "The client cannot ask you, so Drawbridge does. The server gets your answer.",
    notStored: "The server gets these values. Drawbridge does not keep them.",
    messageLabel: "The server's message",
    fieldsLabel: "Fields of the form",
    optional: (label: string) => `${label} (optional)`,
    noChoice: "No choice",
    host: "Site",
    url: "URL",
    noHost: "This URL cannot be opened.",
    urlHint:
      "Open it only if you expect this and know the site. The server learns that you agreed.",
    unreadable:
      "This form cannot be shown. Decline it, or answer it with “drawbridge approvals fill-in”.",
    decisionLabel: "Answer to the server",
    decline: "Decline",
    dismiss: "Dismiss",
    submit: "Send to the server",
    open: "Open in browser",
    expired: "You did not answer in time. Drawbridge told the server.",
    required: "Enter a value.",
    number: "Enter a number.",
    integer: "Enter a whole number.",
    atLeast: (min: number) => `Enter at least ${min}.`,
    atMost: (max: number) => `Enter at most ${max}.`,
    charactersAtLeast: (min: number) => `Enter at least ${plural(min, "character")}.`,
    charactersAtMost: (max: number) => `Enter at most ${plural(max, "character")}.`,
    choicesAtLeast: (min: number) => `Choose at least ${min}.`,
    choicesAtMost: (max: number) => `Choose at most ${max}.`,
    email: "Enter an email address.",
    urlFormat: "Enter a URL.",
    date: "Enter a date.",
    dateTime: "Enter a date and a time.",
  },
  timeLeft: "Time left to decide",
  secondsLeft: (seconds: number) =>
    seconds < 60
      ? `${seconds} s`
      : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`,
  expired: (noun: Noun) => `You missed this ${noun}, so it was denied.`,
  newToClient: "New to this client",
  changed: "Changed",
  description: {
    label: "The server's description",
    writtenByServer: "Written by the server",
    writtenByServerClaiming: "Written by the server, which claims:",
    noClaims: "no claims about what the tool changes",
    none: "no description",
  },

  arguments: {
    title: "Arguments",
    label: "Arguments of the call",
    scrollHint: "Scroll to the end of the arguments to approve.",
    extra: "Sent along with the arguments",
    raw: "Raw JSON",
    editLabel: (position: number, count: number) =>
      count === 1 ? "Changes of the text" : `Changes of the text, ${position} of ${count}`,
    sameText: "The old and the new text are the same.",
    listLabel: (count: number) =>
      count === 1 ? "Arguments of the call" : `Arguments of all ${count} calls`,
    sameIn: (count: number) => `${count} calls with exactly these arguments`,
  },
  /** The texts of `arguments` for a request that is no call. */
  params: {
    title: "Params",
    label: "Params of the request",
    scrollHint: "Scroll to the end of the params to approve.",
    listLabel: (count: number) =>
      count === 1 ? "Params of the request" : `Params of all ${count} requests`,
    sameIn: (count: number) => `${count} requests with exactly these params`,
  },

  similar: {
    label: (noun: Noun) => `Similar ${noun}s`,
    position: (count: number, noun: Noun) => `1 of ${count} similar ${noun}s`,
    decideAll: (count: number) => `Decide all ${count}…`,
  },

  batch: { call: toBatchTexts("call"), request: toBatchTexts("request") },
  /** Why a request is not approved together with others. */
  ownCard: {
    form: "a form to fill in",
    result: "a held result",
    changed: "the tool or its server has changed",
    flagged: "the server's text is flagged",
  },
  batchFailed: "These requests could not be decided and still wait:",
  batchEmpty: "No requests are left to decide.",

  change: {
    allowedBy: (rule: string) => phrase`The rule “${rule}” allowed this request.`,
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
    deny: "Deny",
    denyButton: "Deny…",
    edit: "Edit…",
    approveFor: "Approve for…",
    approveOnce: "Approve once",
    onlyOnce: (noun: Noun) =>
      `You can approve this ${noun} only once, because the server's text is flagged.`,
    approveEdited: "Approve with these arguments",
    /** A condition and `approveLongerFor` follow each text. */
    approveLonger: {
      call: (client: string, server: Phrase, tool: string) =>
        phrase`Approve this call, and later calls of ${tool} of ${server} by ${client},`,
      task: (client: string, server: Phrase, tool: string) =>
        phrase`Approve this request, and later calls of ${tool} of ${server} by ${client},`,
      prompt: (client: string, server: Phrase, name: string) =>
        phrase`Approve this request, and later requests of ${client} for the prompt ${name} of ${server},`,
      prompts: (client: string, server: Phrase) =>
        phrase`Approve this request, and later requests of ${client} for any prompt of ${server},`,
      resource: (client: string, server: Phrase, uri: string) =>
        phrase`Approve this request, and later requests of ${client} for the resource ${uri} of ${server},`,
      resources: (client: string, server: Phrase) =>
        phrase`Approve this request, and later requests of ${client} for any resource of ${server},`,
      sampling: (client: string, server: Phrase) =>
        phrase`Approve this request, and later requests of ${server} for messages from ${client}'s model,`,
      elicitation: (client: string, server: Phrase) =>
        phrase`Approve this request, and later requests of ${server} for your input in ${client},`,
      roots: (client: string, server: Phrase) =>
        phrase`Approve this request, and later requests of ${server} for the folders of ${client},`,
    },
    withTickedArguments: "if their arguments are as ticked",
    withAnyArguments: "whatever their arguments",
    withTickedParams: "if their params are as ticked",
    withAnyParams: "whatever their params",
    withAnyOtherParams: "whatever their other params",
    approveLongerFor: ", for:",
    coversChangedTool: "The approval is for the tool as it is now, after the change.",
    coversChangedServer: "The approval is for the server as it is now, after the change.",
    coversChangedBoth:
      "The approval is for the server and the tool as they are now, after the changes.",
    ruleStaysSuspended: (rule: string) => phrase`The rule “${rule}” stays suspended.`,
    minutes15: "15 minutes",
    hour1: "1 hour",
    calls10: (noun: Noun) => `10 more ${noun}s`,
    session: "This session",
    sessionMeaning: (client: string) =>
      phrase`“This session” applies until ${client} ends its session. For a client without sessions (MCP 2026-07-28), it applies until the client is idle for 30 minutes.`,
    always: "Always…",
  },

  always: {
    loading: "Checking past calls…",
    rule: "This rule applies until you delete it on the Policy screen:",
    asksAgain: "You are asked again if the tool or the server changes.",
    asksAgainIfServerChanges: "You are asked again if the server's command or URL changes.",
    confirm: "Create rule and approve",
  },

  conditions: {
    title: "Only if",
    hint: "(an argument that is not ticked may have any value)",
    paramsHint: "(a param that is not ticked may have any value)",
    promptHint: "(if nothing is ticked, only this prompt)",
    resourceHint: "(if nothing is ticked, only this resource)",
    label: "Arguments that the approval depends on",
    paramsLabel: "Params that the approval depends on",
    choiceLabel: (key: string) => `Condition on ${key}`,
    exactText: "exactly this text",
    exactly: (value: string) => `exactly ${value}`,
    inFolder: (folder: string) => `in ${folder}`,
    inProject: "in the project folder of the client ($project)",
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
    checkedOnApproval:
      "When you approve, Drawbridge checks the arguments against the tool's schema and your rules.",
    diffTitle: "Changes",
    diffLabel: "Differences from the client's arguments",
    unchanged: "No changes yet. Edit the arguments above.",
  },

  result: {
    question: (subject: Phrase, server: Phrase, client: string) =>
      phrase`Show the result of ${subject} of ${server} to ${client}?`,
    answerQuestion: (client: string, subject: Phrase, server: Phrase) =>
      phrase`Show the answer of ${client} to ${subject} to ${server}?`,
    hint: "The call has already run. You decide only whether the client gets its result.",
    requestHint:
      "The server has already answered. You decide only whether the client gets the result.",
    answerHint:
      "The client has already answered. You decide only whether the server gets the answer.",
    title: "Result",
    contentLabel: (noun: Noun) => `Result of the ${noun}`,
    scrollHint: "Scroll to the end of the result to show it.",
    withhold: "Withhold result",
    withholdButton: "Withhold result…",
    show: "Show result",
    expired: "You missed this result, so it was withheld.",
  },

  missed: {
    lead: "You missed these requests, so they were denied. If you allow a retry, and the same request comes again in the time that is left, it runs without asking.",
    emptyTitle: "No missed calls.",
    emptyHint:
      "If you do not decide in time, the call is denied and listed here. For two minutes you can allow the client to try it again.",
    earlierTitle: "Missed earlier",
    earlierCaption: "Missed requests that can no longer be retried, newest first",
    contentLabel: (label: string, position: number, count: number) =>
      count === 1 ? label : `${label}, ${position} of ${count}`,
    timeLeft: "Time left to allow a retry",
    allowRetry: "Allow retry",
    allowRetryOf: (subject: string, sender: string) => `Allow retry of ${subject} by ${sender}`,
  },

  decided: {
    caption: "Decided requests, newest first",
    allCalls: "Search all calls",
    time: "Time",
    decision: "Decision",
    request: "Request",
    reason: "Reason",
    noReason: "–",
    outcome: "Outcome",
    waited: "Waited",
    subjectOf: (subject: Phrase, server: string) => phrase`${subject} of ${server}`,
  },

  lastCalls: {
    title: "Last calls of this session",
    loading: "Loading the last calls…",
    none: "This is the first call of this session.",
    open: (tool: string) => `Show the call of ${tool}`,
  },
};
