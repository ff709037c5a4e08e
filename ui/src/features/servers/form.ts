/** A server's spec as a form, and back. What is secret leaves the form apart from the spec. */

import type { Isolation, SecretValues, ServerSpec, TransportKind } from "../../ipc";
import { joinWords, splitWords } from "../../lib/words";
import {
  advancedFaults,
  advancedOf,
  advancedSpec,
  type Advanced,
  type AdvancedFaults,
} from "./advanced";
import {
  oauthFaults,
  oauthOf,
  oauthSecret,
  oauthSpec,
  type OauthFaults,
  type OauthForm,
} from "./oauth";
import { referenceOf } from "./reference";

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
  /** A local program that serves a URL itself, to which Drawbridge connects. */
  serves: boolean;
  url: string;
  transport: RemoteTransport;
  headers: Row[];
  oauth: OauthForm;
  /** Who shares a session with the server. */
  isolation: Isolation;
  advanced: Advanced;
}

/** How to speak to a remote server: streamable HTTP, or HTTP+SSE as older ones do. */
export type RemoteTransport = "http" | "sse";

export interface Draft {
  spec: ServerSpec;
  secrets: SecretValues;
}

export type Faults = Partial<Record<"name" | "command" | "url" | "env" | "headers", string>> & {
  oauth?: OauthFaults;
  advanced?: AdvancedFaults;
};

let rows = 0;

export function newRow(part: Partial<Row> = {}): Row {
  rows += 1;
  return { id: rows, key: "", value: "", secret: false, kept: null, ...part };
}

export function emptyForm(): ServerForm {
  return {
    name: "",
    kind: "local",
    command: "",
    cwd: "",
    env: [],
    serves: false,
    url: "",
    transport: "http",
    headers: [],
    oauth: oauthOf({}),
    isolation: "shared",
    advanced: advancedOf({}),
  };
}

export function formOf(spec: ServerSpec, name: string, likelySecrets: string[] = []): ServerForm {
  return {
    name,
    kind: spec.url && !spec.command ? "remote" : "local",
    command: spec.command ? joinWords([spec.command, ...(spec.args ?? [])]) : "",
    cwd: spec.cwd ?? "",
    env: rowsOf(spec.env, likelySecrets),
    serves: Boolean(spec.command && spec.url),
    url: spec.url ?? "",
    transport: spec.transport === "sse" ? "sse" : "http",
    headers: rowsOf(spec.headers, likelySecrets),
    oauth: oauthOf(spec),
    isolation: spec.isolation ?? "shared",
    advanced: advancedOf(spec),
  };
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
  }
  if (hasUrl(form)) {
    const url = urlFault(form);
    if (url) faults.url = url;
    const headers = rowFault(form.headers, "header");
    if (headers) faults.headers = headers;
    const oauth = oauthFaults(form.oauth);
    if (Object.keys(oauth).length) faults.oauth = oauth;
  }
  const advanced = advancedFaults(form.advanced);
  if (Object.keys(advanced).length) faults.advanced = advanced;
  return faults;
}

/** The first of them, as one sentence. */
export function firstFault({ oauth, advanced, ...faults }: Faults): string {
  return (
    Object.values(faults)[0] ??
    Object.values(oauth ?? {})[0] ??
    Object.values(advanced ?? {})[0] ??
    ""
  );
}

/** Whether Drawbridge connects to a URL: a remote server's, or one that a local program serves. */
export function hasUrl(form: ServerForm): boolean {
  return form.kind === "remote" || form.serves;
}

function urlFault(form: ServerForm): string {
  const url = form.url.trim();
  if (!/^https?:\/\/[^/\s]+/.test(url) || !URL.canParse(url))
    return form.kind === "remote"
      ? "Give its full URL, beginning with https:// or http://."
      : "Give the full URL that it serves, such as http://127.0.0.1:3001/sse.";
  if (form.kind === "remote") return "";
  const host = new URL(url).hostname;
  const here = host === "localhost" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
  return here
    ? ""
    : "A program of yours serves on this machine: give a URL such as http://127.0.0.1:3001/sse.";
}

/** The spec to save; what `base` holds beyond the form stays as it is. Call it on a form without faults. */
export function draftOf(form: ServerForm, base: Partial<ServerSpec> = {}): Draft {
  const local = form.kind === "local";
  const [command = null, ...args] = local ? (splitWords(form.command).words ?? []) : [];
  const env = local ? form.env.filter(isFilled) : [];
  const linked = hasUrl(form);
  const headers = linked ? form.headers.filter(isFilled) : [];
  const clientSecret = linked ? oauthSecret(form.oauth) : null;
  return {
    spec: {
      ...base,
      ...advancedSpec(form.advanced, base, local),
      name: form.name.trim(),
      command,
      args,
      env: plainOf(env),
      cwd: local ? form.cwd.trim() || null : null,
      url: linked ? form.url.trim() : null,
      headers: plainOf(headers),
      bearer_token: linked ? (base.bearer_token ?? null) : null,
      oauth: linked ? oauthSpec(form.oauth) : null,
      transport: transportOf(form, base),
      runtime_hint: local ? (base.runtime_hint ?? null) : null,
      enabled: base.enabled ?? true,
      isolation: form.isolation,
    },
    secrets: {
      env: secretOf(env),
      headers: secretOf(headers),
      ...(clientSecret !== null && { oauth_client: clientSecret }),
    },
  };
}

/** What is inferred is named only where the spec named it: stdio for a program, streamable HTTP for a URL. */
function transportOf(form: ServerForm, base: Partial<ServerSpec>): TransportKind | null {
  if (!hasUrl(form)) return base.transport === "stdio" ? "stdio" : null;
  // Of a program that serves a URL nothing is inferred.
  return form.kind === "local" || form.transport === "sse" || base.transport === "http"
    ? form.transport
    : null;
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
  return Object.fromEntries(
    filled
      .filter((row) => row.kept === null && row.secret)
      .map((row) => [row.key.trim(), row.value]),
  );
}

function rowFault(all: Row[], noun: string): string {
  const keys = all.filter(isFilled).map((row) => row.key.trim());
  if (keys.includes("")) return `A ${noun} has a value and no name.`;
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice !== undefined) return `The ${noun} ${twice} stands twice.`;
  const blank = all.find(
    (row) => row.secret && row.kept === null && row.key.trim() !== "" && row.value === "",
  );
  return blank ? `The secret ${blank.key.trim()} has no value.` : "";
}
