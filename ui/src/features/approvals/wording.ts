/** The words about a request on its card, in the queue and in the list of missed requests. */

import type { ApprovalRequest } from "../../ipc";
import { isSentToClients, nounOf } from "../../state/labels";
import { texts } from "../../texts";
import { phrase, type Phrase } from "../../texts/phrase";

const t = texts.approvals;

/** Returns the server's name, with its id if the two differ. */
export function nameServer({ server, server_name }: ApprovalRequest): Phrase {
  return server_name === server ? phrase`${server}` : t.serverWithId(server_name, server);
}

/** Returns the sentence of a request, such as "cursor wants to call read_file of filesystem". */
export function describeRequest(request: ApprovalRequest): Phrase {
  const { client, sampling_provider } = request;
  if (sampling_provider !== null)
    return t.bridgedSampling(sampling_provider, client, nameServer(request));
  if (request.is_filled_in_by_person) return t.form.sentence(client, nameServer(request));
  return t.sentences[request.method](request.client, nameServer(request), request.tool);
}

/** Returns the sentence of a missed request, in the past tense. */
export function describeMissed(request: ApprovalRequest): Phrase {
  const { client, sampling_provider } = request;
  if (sampling_provider !== null)
    return t.missedSampling(sampling_provider, client, nameServer(request));
  return t.pastSentences[request.method](request.client, nameServer(request), request.tool);
}

/** Returns the question whether the other side gets a held result. */
export function askAboutResult(request: ApprovalRequest): Phrase {
  const { method, client, tool } = request;
  const server = nameServer(request);
  if (isSentToClients(method)) return t.result.answerQuestion(client, phrase`${method}`, server);
  const subject = nounOf(method) === "call" ? phrase`${tool}` : phrase`${method} ${tool}`;
  return t.result.question(subject, server, client);
}

/** Returns the sentence of a waiting request or held result. */
export function describeWaiting(request: ApprovalRequest): Phrase {
  return request.result === null ? describeRequest(request) : askAboutResult(request);
}

/**
 * Returns why a request needs a decision on its own card; empty if it may be approved with others.
 * The card of such a request shows more than the content, or asks for more than an approval.
 */
export function ownCardReason(request: ApprovalRequest): string {
  if (request.is_filled_in_by_person) return t.ownCard.form;
  if (request.result !== null) return t.ownCard.result;
  if (request.suspended !== null || request.changed !== null) return t.ownCard.changed;
  return request.flags?.length ? t.ownCard.flagged : "";
}

/** The most important reason to look closely at a request. */
export interface Mark {
  label: string;
  tone: "warn" | "accent";
}

/** Returns the mark of a request in the queue; `null` if nothing needs a closer look. */
export function describeMark(request: ApprovalRequest): Mark | null {
  if (request.suspended !== null || request.changed !== null)
    return { label: t.changed, tone: "warn" };
  if (request.flags?.length) return { label: texts.kit.contentFlags.badge, tone: "warn" };
  if (request.result !== null) return { label: t.queue.result, tone: "accent" };
  if (request.is_filled_in_by_person) return { label: t.queue.form, tone: "accent" };
  return request.is_first ? { label: t.queue.first, tone: "accent" } : null;
}

/** The text before the choices for a longer approval. */
export interface LongerText {
  /** The later requests that are approved too. */
  scope: Phrase;
  /** Which arguments or params the later requests may have. */
  condition: string;
}

/**
 * Returns the scope and the condition of a longer approval. If the person sets no condition, the
 * hub limits the approval to the prompt or the resource that the request names.
 */
export function describeLonger(request: ApprovalRequest, hasConditions: boolean): LongerText {
  const { method, kind, client, tool } = request;
  const { approveLonger: longer, ...words } = t.decision;
  const server = nameServer(request);
  if (kind === "tools") {
    const scope = nounOf(method) === "call" ? longer.call : longer.task;
    return {
      scope: scope(client, server, tool),
      condition: hasConditions ? words.withTickedArguments : words.withAnyArguments,
    };
  }
  if (!hasConditions && method === "prompts/get")
    return { scope: longer.prompt(client, server, tool), condition: words.withAnyArguments };
  if (!hasConditions && (method === "resources/read" || method === "resources/subscribe"))
    return { scope: longer.resource(client, server, tool), condition: words.withAnyOtherParams };
  return {
    scope: longer[kind](client, server),
    condition: hasConditions ? words.withTickedParams : words.withAnyParams,
  };
}

/** Returns the hint about arguments or params for which the person chooses no condition. */
export function conditionHint({ method, kind }: ApprovalRequest): string {
  if (kind === "tools") return t.conditions.hint;
  if (method === "prompts/get") return t.conditions.promptHint;
  if (method === "resources/read" || method === "resources/subscribe")
    return t.conditions.resourceHint;
  return t.conditions.paramsHint;
}

/** The texts about the arguments of a call, or about the params of another request. */
export function contentTexts({ method }: ApprovalRequest) {
  return nounOf(method) === "call" ? t.arguments : t.params;
}
