/** Converts a hook to the fields of its form and back, and validates them. */

import type { Hook, HookEvent, HookMode, OnFailure } from "../../ipc";
import { joinCommandLine, splitCommandLine } from "../../lib/commandLine";
import { texts } from "../../texts";

const t = texts.hooks.dialog;

export const EVENTS: HookEvent[] = [
  "tool_requested",
  "tool_executed",
  "server_connected",
  "server_disconnected",
];

export interface HookForm {
  name: string;
  events: HookEvent[];
  mode: HookMode;
  kind: "command" | "webhook";
  commandLine: string;
  url: string;
  /** The variables or the headers, one per line as NAME=VALUE, or as !NAME=VALUE for a secret. */
  parts: string;
  /** Empty for any server. Likewise, an empty `tool` stands for any tool. */
  server: string;
  tool: string;
  /** In milliseconds. */
  timeout: string;
  onFailure: OnFailure;
  /** Whether an observing hook gets the contents of results. */
  withResult: boolean;
  enabled: boolean;
}

export interface HookErrors {
  name?: string;
  events?: string;
  target?: string;
  parts?: string;
  timeout?: string;
}

export function toForm(hook?: Hook): HookForm {
  const target = hook?.target;
  const parts = target === undefined ? {} : target.kind === "command" ? target.env : target.headers;
  return {
    name: hook?.name ?? "",
    events: hook?.events ?? ["tool_executed"],
    mode: hook?.mode ?? "observe",
    kind: target?.kind ?? "command",
    commandLine:
      target?.kind === "command" ? joinCommandLine([target.program, ...target.args]) : "",
    url: target?.kind === "webhook" ? target.url : "",
    parts: Object.entries(parts)
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
    server: hook?.server ?? "",
    tool: hook?.tool ?? "",
    timeout: String(hook?.timeout_ms ?? 5000),
    onFailure: hook?.on_failure ?? "allow",
    withResult: hook?.with_result ?? false,
    enabled: hook?.enabled ?? true,
  };
}

export interface HookDraft {
  hook: Hook;
  /** The values to store as secrets, by the name of their variable or header. */
  secrets: Record<string, string>;
}

export function toDraft(form: HookForm): HookDraft {
  const { plain, secrets } = parseParts(form.parts);
  const words = splitCommandLine(form.commandLine).words ?? [];
  const hasToolEvent = form.events.some(canBlock);
  return {
    hook: {
      name: form.name.trim(),
      events: EVENTS.filter((event) => form.events.includes(event)),
      mode: form.mode,
      server: form.server || null,
      tool: (hasToolEvent && form.tool.trim()) || null,
      timeout_ms: Number(form.timeout),
      on_failure: form.mode === "blocking" ? form.onFailure : "allow",
      with_result: form.withResult,
      enabled: form.enabled,
      target:
        form.kind === "command"
          ? { kind: "command", program: words[0] ?? "", args: words.slice(1), env: plain }
          : { kind: "webhook", url: form.url.trim(), headers: plain },
    },
    secrets,
  };
}

/** Returns the hook with its secrets in plain text: they are stored only when the hook is saved. */
export function toTrialHook({ hook, secrets }: HookDraft): Hook {
  const { target } = hook;
  return {
    ...hook,
    target:
      target.kind === "command"
        ? { ...target, env: { ...target.env, ...secrets } }
        : { ...target, headers: { ...target.headers, ...secrets } },
  };
}

/** Returns whether Drawbridge may wait for a hook on this event. */
export function canBlock(event: HookEvent): boolean {
  return event === "tool_requested" || event === "tool_executed";
}

export function validate(form: HookForm, takenNames: string[]): HookErrors {
  const errors: HookErrors = {};
  const name = form.name.trim();
  if (!name) errors.name = t.nameMissing;
  else if (takenNames.includes(name)) errors.name = t.nameTaken;
  if (!form.events.length) errors.events = t.noEvent;
  else if (form.mode === "blocking" && !form.events.every(canBlock)) errors.events = t.cannotBlock;
  if (form.kind === "webhook") {
    if (!form.url.trim()) errors.target = t.noUrl;
  } else {
    const { words, problem } = splitCommandLine(form.commandLine);
    if (problem) errors.target = problem;
    else if (!words?.length) errors.target = t.noCommand;
  }
  const { problem } = parseParts(form.parts);
  if (problem) errors.parts = problem;
  const timeout = Number(form.timeout);
  if (!Number.isInteger(timeout) || timeout < 100 || timeout > 60_000)
    errors.timeout = t.badTimeout;
  return errors;
}

/** Parses lines of NAME=VALUE. A line that begins with `!` has a value to store as a secret. */
function parseParts(text: string): {
  plain: Record<string, string>;
  secrets: Record<string, string>;
  problem: string;
} {
  const plain: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  for (const line of text.split("\n").map((text) => text.trim())) {
    if (!line) continue;
    const isSecret = line.startsWith("!");
    const [, name, value] = /^!?\s*([^=\s]+)\s*=(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined)
      return { plain, secrets, problem: t.badPart(isSecret ? "!…" : line) };
    (isSecret ? secrets : plain)[name] = value.trim();
  }
  return { plain, secrets, problem: "" };
}
