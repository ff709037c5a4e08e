/** Finds the references in a spec: to secrets (`${keyring:NAME}`), to variables and to commands. */

import type { ServerSpec } from "../ipc";

const REFERENCE = /\$\{keyring:([^}]*)\}/g;

/** Returns the names of all secrets to which a value refers. */
export function listSecretNames(value: string): string[] {
  return [...value.matchAll(REFERENCE)].map((match) => match[1] ?? "");
}

const VARIABLE_OR_COMMAND = /\$\{(?:env|command):[^}]*\}/;

/** Returns whether a value refers to a variable, or to a command that prints a secret. */
export function refersToVariableOrCommand(value: string): boolean {
  return VARIABLE_OR_COMMAND.test(value);
}

/** Returns whether starting a server with this value runs a command. */
export function runsCommand(value: string): boolean {
  return value.includes("${command:");
}

/** Returns the names of the secrets to which a spec refers. */
export function listSpecSecrets(spec: ServerSpec): string[] {
  return [
    ...Object.values(spec.env ?? {}),
    ...Object.values(spec.headers ?? {}),
    ...(spec.args ?? []),
    spec.url ?? "",
    spec.bearer_token ?? "",
    spec.oauth?.client_secret ?? "",
  ].flatMap(listSecretNames);
}
