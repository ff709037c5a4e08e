/** A server's spec as a form, and back. What is secret leaves the form apart from the spec. */

import type { Isolation, SecretValues, ServerSpec } from "../../ipc";
import { joinWords, splitWords } from "../../lib/words";

export interface Row {
  /** Only to tell rows apart on screen. */
  id: number;
  key: string;
  value: string;
  secret: boolean;
  /** The value in the spec that names the keyring; it stays so until it is replaced. */
  kept: string | null;
}

export interface ServerForm {
  name: string;
  kind: "local" | "remote";
  command: string;
  cwd: string;
  env: Row[];
  url: string;
  transport: RemoteTransport;
  headers: Row[];
  /** Who shares a session with the server. */
  isolation: Isolation;
}

/** How to speak to a remote server: streamable HTTP, or HTTP+SSE as older ones do. */
export type RemoteTransport = "http" | "sse";

export interface Draft {
  spec: ServerSpec;
  secrets: SecretValues;
}

export type Faults = Partial<Record<"name" | "command" | "url" | "env" | "headers", string>>;

const REFERENCE = /\$\{keyring:([^}]+)\}/;

let rows = 0;

export function newRow(part: Partial<Row> = {}): Row {
  rows += 1;
  return { id: rows, key: "", value: "", secret: false, kept: null, ...part };
}

export function emptyForm(): ServerForm {
  return { name: "", kind: "local", command: "", cwd: "", env: [], url: "", transport: "http", headers: [], isolation: "shared" };
}

export function formOf(spec: ServerSpec, name: string, likelySecrets: string[] = []): ServerForm {
  return {
    name,
    kind: spec.url ? "remote" : "local",
    command: spec.command ? joinWords([spec.command, ...(spec.args ?? [])]) : "",
    cwd: spec.cwd ?? "",
    env: rowsOf(spec.env, likelySecrets),
    url: spec.url ?? "",
    transport: spec.transport === "sse" ? "sse" : "http",
    headers: rowsOf(spec.headers, likelySecrets),
    isolation: spec.isolation ?? "shared",
  };
}

/** The name in the keyring that a kept value refers to. */
export function referenceOf(value: string): string | null {
  return REFERENCE.exec(value)?.[1] ?? null;
}

/** What is wrong with the form, by field; empty where it can be saved. */
export function faultsOf(form: ServerForm): Faults {
  const faults: Faults = {};
  if (!form.name.trim()) faults.name = "Give it a name, such as “filesystem”.";
  if (form.kind === "local") {
    const { words, problem } = splitWords(form.command);
    if (problem) faults.command = problem;
    else if (!words?.[0]) faults.command = "Give the command that starts it.";
    const env = rowFault(form.env, "variable");
    if (env) faults.env = env;
  } else {
    if (!/^https?:\/\/[^/\s]+/.test(form.url.trim())) faults.url = "Give its full URL, beginning with https:// or http://.";
    const headers = rowFault(form.headers, "header");
    if (headers) faults.headers = headers;
  }
  return faults;
}

/** The spec to save; what `base` holds beyond the form stays as it is. Call it on a form without faults. */
export function draftOf(form: ServerForm, base: Partial<ServerSpec> = {}): Draft {
  const local = form.kind === "local";
  const [command = null, ...args] = local ? (splitWords(form.command).words ?? []) : [];
  const env = local ? form.env.filter(isFilled) : [];
  const headers = local ? [] : form.headers.filter(isFilled);
  return {
    spec: {
      ...base,
      name: form.name.trim(),
      command,
      args,
      env: plainOf(env),
      cwd: local ? form.cwd.trim() || null : null,
      url: local ? null : form.url.trim(),
      headers: plainOf(headers),
      transport: local ? localTransport(base) : remoteTransport(form, base),
      enabled: base.enabled ?? true,
      isolation: form.isolation,
    },
    secrets: { env: secretOf(env), headers: secretOf(headers) },
  };
}

function localTransport(base: Partial<ServerSpec>): "stdio" | null {
  return base.transport === "stdio" ? "stdio" : null;
}

/** Streamable HTTP is what a URL stands for: it is named only where the spec named it. */
function remoteTransport(form: ServerForm, base: Partial<ServerSpec>): RemoteTransport | null {
  return form.transport === "sse" || base.transport === "http" ? form.transport : null;
}

function rowsOf(values: Record<string, string> | undefined, likelySecrets: string[]): Row[] {
  return Object.entries(values ?? {}).map(([key, value]) =>
    referenceOf(value) === null
      ? newRow({ key, value, secret: likelySecrets.includes(key) })
      : newRow({ key, secret: true, kept: value }),
  );
}

function isFilled(row: Row): boolean {
  return row.key.trim() !== "" || row.value !== "";
}

function plainOf(filled: Row[]): Record<string, string> {
  const plain = filled.filter((row) => row.kept !== null || !row.secret);
  return Object.fromEntries(plain.map((row) => [row.key.trim(), row.kept ?? row.value]));
}

function secretOf(filled: Row[]): Record<string, string> {
  return Object.fromEntries(filled.filter((row) => row.kept === null && row.secret).map((row) => [row.key.trim(), row.value]));
}

function rowFault(all: Row[], noun: string): string {
  const keys = all.filter(isFilled).map((row) => row.key.trim());
  if (keys.includes("")) return `A ${noun} has a value and no name.`;
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice !== undefined) return `The ${noun} ${twice} stands twice.`;
  const blank = all.find((row) => row.secret && row.kept === null && row.key.trim() !== "" && row.value === "");
  return blank ? `The secret ${blank.key.trim()} has no value.` : "";
}
