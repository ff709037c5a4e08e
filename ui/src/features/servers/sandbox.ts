/** The sandbox of a server's spec as fields of a form. Lists are texts with one entry per line. */

import type { Sandbox } from "../../ipc";
import { texts } from "../../texts";

export type SandboxPreset = "off" | "ownFolder" | "readProject" | "noNetwork" | "custom";
export const SANDBOX_PRESETS: SandboxPreset[] = [
  "off",
  "ownFolder",
  "readProject",
  "noNetwork",
  "custom",
];

export interface SandboxForm {
  preset: SandboxPreset;
  files: Sandbox["files"];
  /** The files and folders that the server may read. */
  read: string;
  write: string;
  network: Sandbox["network"];
  /** The TCP ports to which the server may connect. */
  connect: string;
  bind: string;
  localSockets: boolean;
}

export type SandboxErrors = Partial<
  Record<"sandboxRead" | "sandboxWrite" | "sandboxConnect" | "sandboxBind" | "sandbox", string>
>;

export function toSandboxForm(sandbox: Sandbox | null | undefined): SandboxForm {
  const list = (entries: (string | number)[] | undefined) => (entries ?? []).join("\n");
  return {
    preset: sandbox ? findPreset(sandbox) : "off",
    files: sandbox?.files ?? "listed",
    read: list(sandbox?.read),
    write: list(sandbox?.write),
    network: sandbox?.network ?? "all",
    connect: list(sandbox?.connect),
    bind: list(sandbox?.bind),
    localSockets: sandbox?.local_sockets ?? false,
  };
}

function findPreset(sandbox: Sandbox): SandboxPreset {
  const { files, network } = sandbox;
  if (sandbox.local_sockets || sandbox.write?.length) return "custom";
  if (files === "all") return network === "none" ? "noNetwork" : "custom";
  if (network !== "all") return "custom";
  return sandbox.read?.length ? "readProject" : "ownFolder";
}

/** Returns one sentence for each invalid field. */
export function validateSandbox(form: SandboxForm): SandboxErrors {
  const t = texts.servers.form.advanced.sandbox;
  const errors: SandboxErrors = {};
  const showsRead = form.preset === "readProject" || listsFiles(form);
  if (showsRead && hasRelativePath(form.read)) errors.sandboxRead = t.relativePath;
  if (form.preset === "readProject" && splitLines(form.read).length === 0)
    errors.sandboxRead = t.projectMissing;
  if (listsFiles(form) && hasRelativePath(form.write)) errors.sandboxWrite = t.relativePath;
  if (listsPorts(form)) {
    if (hasBadPort(form.connect)) errors.sandboxConnect = t.badPort;
    if (hasBadPort(form.bind)) errors.sandboxBind = t.badPort;
  }
  const allowsAll = form.files === "all" && form.network === "all" && form.localSockets;
  if (form.preset === "custom" && allowsAll) errors.sandbox = t.nothing;
  return errors;
}

/** Returns the sandbox for the spec. The form must be valid. */
export function toSandbox(form: SandboxForm): Sandbox | null {
  switch (form.preset) {
    case "off":
      return null;
    case "ownFolder":
      return { files: "listed", network: "all" };
    case "readProject":
      return { files: "listed", read: splitLines(form.read), network: "all" };
    case "noNetwork":
      return { files: "all", network: "none" };
    case "custom": {
      const paths = (text: string) => (listsFiles(form) ? splitLines(text) : []);
      const ports = (text: string) => (listsPorts(form) ? splitLines(text).map(Number) : []);
      return {
        files: form.files,
        read: paths(form.read),
        write: paths(form.write),
        network: form.network,
        connect: ports(form.connect),
        bind: ports(form.bind),
        local_sockets: form.localSockets,
      };
    }
  }
}

/** Returns the permissions of a server in this sandbox, in words. */
export function describeSandbox(sandbox: Sandbox): string[] {
  const t = texts.servers.spec.sandboxFacts;
  const described = [t.files[sandbox.files]];
  if (sandbox.read?.length) described.push(t.read(sandbox.read.join(", ")));
  if (sandbox.write?.length) described.push(t.write(sandbox.write.join(", ")));
  described.push(t.network[sandbox.network]);
  if (sandbox.connect?.length) described.push(t.connect(sandbox.connect.join(", ")));
  if (sandbox.bind?.length) described.push(t.bind(sandbox.bind.join(", ")));
  if (sandbox.local_sockets) described.push(t.localSockets);
  return described;
}

function listsFiles(form: SandboxForm): boolean {
  return form.preset === "custom" && form.files === "listed";
}

function listsPorts(form: SandboxForm): boolean {
  return form.preset === "custom" && form.network === "listed";
}

function splitLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function hasRelativePath(text: string): boolean {
  return splitLines(text).some((path) => !path.startsWith("/") && !path.startsWith("~/"));
}

function hasBadPort(text: string): boolean {
  return splitLines(text).some((port) => !/^\d{1,5}$/.test(port) || Number(port) > 65_535);
}
