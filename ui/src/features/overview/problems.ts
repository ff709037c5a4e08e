/** The problems that need a person, most urgent first. */

import { SERVER_STATE } from "../../state/labels";
import { formatQuery } from "../../lib/hashQuery";
import { revealHidden } from "../../lib/reveal";
import type { Stores } from "../../state";
import { texts } from "../../texts";

const t = texts.overview;

export interface Problem {
  /** Identifies the problem in the list. */
  key: string;
  tone: "bad" | "warn" | "busy";
  title: string;
  /** The reason or the consequence; for clients that ask to be paired, their names. */
  details: string;
  /** The screen that solves the problem, and the text of the link; absent if no screen does. */
  href?: string;
  action?: string;
  /** A link to the log of a server that failed. */
  log?: string;
}

/** Returns the waiting requests, pairings and missed requests, then all other problems. */
export function listProblems(stores: Stores): Problem[] {
  return [
    ...listRequests(stores),
    ...listHubProblems(stores),
    ...listServerProblems(stores),
    ...listClientProblems(stores),
  ];
}

function listRequests({ approvals, missed, pairings }: Stores): Problem[] {
  const problems: Problem[] = [];
  if (approvals.waiting.length)
    problems.push({
      key: "approvals",
      tone: "busy",
      title: t.approvals(approvals.waiting.length),
      details: t.approvalsHint,
      href: "#/approvals",
      action: t.decide,
    });
  if (pairings.list.length)
    problems.push({
      key: "pairings",
      tone: "busy",
      title: t.pairings(pairings.list.length),
      details: pairings.list.map((request) => revealHidden(request.name)).join(", "),
      href: "#/clients",
      action: t.answer,
    });
  if (missed.list.length)
    problems.push({
      key: "missed",
      tone: "warn",
      title: t.missed(missed.list.length),
      details: t.missedHint,
      href: "#/approvals/missed",
      action: t.showMissed,
    });
  return problems;
}

function listHubProblems({ drawbridge, settings }: Stores): Problem[] {
  const problems: Problem[] = [];
  const settingsLink = { href: "#/settings", action: t.showSettings };
  if (drawbridge.paused)
    problems.push({
      key: "paused",
      tone: "bad",
      title: t.paused,
      details: t.pausedHint,
    });
  if (settings.httpFailure)
    problems.push({
      key: "http",
      tone: "bad",
      title: t.notListening,
      details: settings.httpFailure.error,
      ...settingsLink,
    });
  for (const check of settings.health?.checks.filter(({ ok }) => !ok) ?? []) {
    // The HTTP listener has an entry of its own.
    if (check.name === "listeners" && settings.httpFailure) continue;
    problems.push({
      key: `check ${check.name}`,
      tone: "bad",
      title: check.name === "disk" ? t.disk : t.checkFailed(check.name),
      details: check.error,
      ...settingsLink,
    });
  }
  const store = settings.view?.secret_store;
  if (store?.problem)
    problems.push({
      key: "secrets",
      tone: "bad",
      title: t.secretStore,
      details: `${store.problem}. ${store.remedy}`,
      href: "#/settings",
      action: t.showSecrets,
    });
  return problems;
}

function listServerProblems({ servers }: Stores): Problem[] {
  const broken: Problem[] = servers.broken.map((spec) => ({
    key: `spec ${spec.file}`,
    tone: "bad",
    title: t.brokenSpec(revealHidden(spec.file.split(/[/\\]/).at(-1) ?? "")),
    details: spec.message,
    href: "#/servers",
    action: t.showServers,
  }));
  const states = servers.list
    .filter((server) =>
      ["error", "needs_acceptance", "needs_secret", "needs_sign_in"].includes(server.state),
    )
    .map((server): Problem => {
      const { label, tone } = SERVER_STATE[server.state];
      return {
        key: `server ${server.id}`,
        tone: tone === "bad" ? "bad" : "warn",
        title: t.server(revealHidden(server.name), label),
        details: server.reason,
        href: `#/servers/${encodeURIComponent(server.id)}`,
        action: t.showServer,
        ...(server.state === "error" ? { log: `#/logs${formatQuery({ source: server.id })}` } : {}),
      };
    });
  const definitions = servers.list
    .filter((server) => server.unaccepted.length)
    .map((server): Problem => ({
      key: `definitions ${server.id}`,
      tone: "warn",
      title: t.definitions(revealHidden(server.name), server.unaccepted.length),
      details: t.definitionsHint,
      href: `#/servers/${encodeURIComponent(server.id)}`,
      action: t.showServer,
    }));
  const failed = states.filter((problem) => problem.tone === "bad");
  const others = states.filter((problem) => problem.tone !== "bad");
  return [...failed, ...broken, ...others, ...definitions];
}

function listClientProblems({ clientFiles }: Stores): Problem[] {
  if (clientFiles.needAttention === 0) return [];
  return [
    {
      key: "client files",
      tone: "warn",
      title: t.clientFiles(clientFiles.needAttention),
      details: t.clientFilesHint,
      href: "#/clients",
      action: t.showClients,
    },
  ];
}
