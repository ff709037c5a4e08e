/**
 * Converts a server's spec to the fields of its form and back, and validates them. Secrets stay
 * apart from the spec.
 */

import type { Isolation, SecretValues, ServerSpec, TransportKind } from "../../ipc";
import { joinCommandLine, splitCommandLine } from "../../lib/commandLine";
import { texts } from "../../texts";
import {
  toAdvanced,
  toAdvancedSpec,
  validateAdvanced,
  type Advanced,
  type AdvancedErrors,
} from "./advanced";
import {
  readOauthSecret,
  toOauthClient,
  toOauthForm,
  validateOauth,
  type OauthErrors,
  type OauthForm,
} from "./oauth";
import { parseSecretReference } from "./secretReference";

/** The name and value of a variable or a header. */
export interface Row {
  /** Identifies the row on screen only. */
  id: number;
  key: string;
  value: string;
  /** Whether the value is stored as a secret. */
  secret: boolean;
  /** The reference to a stored secret in the spec; null if there is none or it is replaced. */
  reference: string | null;
}

export interface ServerForm {
  name: string;
  kind: "local" | "remote";
  command: string;
  cwd: string;
  env: Row[];
  /** Whether the local program listens on a URL to which Drawbridge connects. */
  listens: boolean;
  url: string;
  transport: RemoteTransport;
  headers: Row[];
  oauth: OauthForm;
  /** Which clients share a session with the server. */
  isolation: Isolation;
  advanced: Advanced;
}

/** The transport of a URL: streamable HTTP, or HTTP+SSE. */
export type RemoteTransport = "http" | "sse";

export interface Draft {
  spec: ServerSpec;
  secrets: SecretValues;
}

export type ServerErrors = Partial<
  Record<"name" | "command" | "url" | "env" | "headers", string>
> & {
  oauth?: OauthErrors;
  advanced?: AdvancedErrors;
};

let lastRowId = 0;

export function newRow(part: Partial<Row> = {}): Row {
  lastRowId += 1;
  return { id: lastRowId, key: "", value: "", secret: false, reference: null, ...part };
}

export function createForm(): ServerForm {
  return {
    name: "",
    kind: "local",
    command: "",
    cwd: "",
    env: [],
    listens: false,
    url: "",
    transport: "http",
    headers: [],
    oauth: toOauthForm({}),
    isolation: "shared",
    advanced: toAdvanced({}),
  };
}

/** Returns the form of a spec. Marks the variables and headers named in `likelySecrets` as secret. */
export function toForm(spec: ServerSpec, name: string, likelySecrets: string[] = []): ServerForm {
  return {
    name,
    kind: spec.url && !spec.command ? "remote" : "local",
    command: spec.command ? joinCommandLine([spec.command, ...(spec.args ?? [])]) : "",
    cwd: spec.cwd ?? "",
    env: toRows(spec.env, likelySecrets),
    listens: Boolean(spec.command && spec.url),
    url: spec.url ?? "",
    transport: spec.transport === "sse" ? "sse" : "http",
    headers: toRows(spec.headers, likelySecrets),
    oauth: toOauthForm(spec),
    isolation: spec.isolation ?? "shared",
    advanced: toAdvanced(spec),
  };
}

/** Returns one sentence for each invalid field. */
export function validateForm(form: ServerForm): ServerErrors {
  const t = texts.servers.form;
  const errors: ServerErrors = {};
  if (!form.name.trim()) errors.name = t.name.missing;
  if (form.kind === "local") {
    const { words, problem } = splitCommandLine(form.command);
    if (problem) errors.command = problem;
    else if (!words?.[0]) errors.command = t.command.missing;
    const env = validateRows(form.env, "variables");
    if (env) errors.env = env;
  }
  if (connectsToUrl(form)) {
    const url = validateUrl(form);
    if (url) errors.url = url;
    const headers = validateRows(form.headers, "headers");
    if (headers) errors.headers = headers;
    const oauth = validateOauth(form.oauth);
    if (Object.keys(oauth).length) errors.oauth = oauth;
  }
  const advanced = validateAdvanced(form.advanced);
  if (Object.keys(advanced).length) errors.advanced = advanced;
  return errors;
}

/** Returns the sentence of the first error, or an empty text. */
export function findFirstError({ oauth, advanced, ...errors }: ServerErrors): string {
  return (
    Object.values(errors)[0] ??
    Object.values(oauth ?? {})[0] ??
    Object.values(advanced ?? {})[0] ??
    ""
  );
}

/** Returns whether Drawbridge connects to a URL, of a remote server or of a local program. */
export function connectsToUrl(form: ServerForm): boolean {
  return form.kind === "remote" || form.listens;
}

function validateUrl(form: ServerForm): string {
  const t = texts.servers.form.url;
  const url = form.url.trim();
  if (!/^https?:\/\/[^/\s]+/.test(url) || !URL.canParse(url))
    return form.kind === "remote" ? t.remoteInvalid : t.localInvalid;
  if (form.kind === "remote") return "";
  const host = new URL(url).hostname;
  const isThisMachine = host === "localhost" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
  return isThisMachine ? "" : t.notOnThisMachine;
}

/**
 * Returns the spec to save, with the fields of `base` that the form does not have. The form must be
 * valid.
 */
export function toDraft(form: ServerForm, base: Partial<ServerSpec> = {}): Draft {
  const local = form.kind === "local";
  const [command = null, ...args] = local ? (splitCommandLine(form.command).words ?? []) : [];
  const env = local ? form.env.filter(isFilled) : [];
  const withUrl = connectsToUrl(form);
  const headers = withUrl ? form.headers.filter(isFilled) : [];
  const clientSecret = withUrl ? readOauthSecret(form.oauth) : null;
  return {
    spec: {
      ...base,
      ...toAdvancedSpec(form.advanced, base, local),
      name: form.name.trim(),
      command,
      args,
      env: collectPlain(env),
      // A remote server has no environment.
      ...(base.required_env && { required_env: local ? base.required_env : [] }),
      cwd: local ? form.cwd.trim() || null : null,
      url: withUrl ? form.url.trim() : null,
      headers: collectPlain(headers),
      bearer_token: withUrl ? (base.bearer_token ?? null) : null,
      oauth: withUrl ? toOauthClient(form.oauth) : null,
      transport: selectTransport(form, base),
      runtime_hint: local ? (base.runtime_hint ?? null) : null,
      enabled: base.enabled ?? true,
      isolation: form.isolation,
    },
    secrets: {
      env: collectSecrets(env),
      headers: collectSecrets(headers),
      ...(clientSecret !== null && { oauth_client: clientSecret }),
    },
  };
}

/**
 * Returns the transport for the spec, or null if the hub infers it: stdio for a program, streamable
 * HTTP for a URL. A transport that the spec named stays.
 */
function selectTransport(form: ServerForm, base: Partial<ServerSpec>): TransportKind | null {
  if (!connectsToUrl(form)) return base.transport === "stdio" ? "stdio" : null;
  // The hub infers no transport for a program with a URL.
  return form.kind === "local" || form.transport === "sse" || base.transport === "http"
    ? form.transport
    : null;
}

function toRows(values: Record<string, string> | undefined, likelySecrets: string[]): Row[] {
  return Object.entries(values ?? {}).map(([key, value]) =>
    parseSecretReference(value) === null
      ? newRow({ key, value, secret: likelySecrets.includes(key) })
      : newRow({ key, secret: true, reference: value }),
  );
}

function isFilled(row: Row): boolean {
  return row.key.trim() !== "" || row.value !== "";
}

function collectPlain(filled: Row[]): Record<string, string> {
  const plain = filled.filter((row) => row.reference !== null || !row.secret);
  return Object.fromEntries(plain.map((row) => [row.key.trim(), row.reference ?? row.value]));
}

function collectSecrets(filled: Row[]): Record<string, string> {
  return Object.fromEntries(
    filled
      .filter((row) => row.reference === null && row.secret)
      .map((row) => [row.key.trim(), row.value]),
  );
}

function validateRows(all: Row[], kind: "variables" | "headers"): string {
  const t = texts.servers.form[kind];
  const keys = all.filter(isFilled).map((row) => row.key.trim());
  if (keys.includes("")) return t.noName;
  const duplicate = keys.find((key, index) => keys.indexOf(key) !== index);
  if (duplicate !== undefined) return t.duplicate(duplicate);
  const blank = all.find(
    (row) => row.secret && row.reference === null && row.key.trim() !== "" && row.value === "",
  );
  return blank ? texts.servers.form.secret.noValue(blank.key.trim()) : "";
}
