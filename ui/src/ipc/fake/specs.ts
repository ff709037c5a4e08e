/** Reads and writes specs like the hub, but only the cases that the tests use. */

import { IpcError } from "..";
import type { ParsedSpec, SecretValues, ServerSpec } from "../bindings";
import { spec } from "./data";

/** Replaces the secrets of a spec with references to stored secrets. */
export function sealSecrets(id: string, spec: ServerSpec, secrets: SecretValues): ServerSpec {
  const names = (values: Record<string, string>) =>
    Object.fromEntries(Object.keys(values).map((key) => [key, `\${keyring:${id}/${key}}`]));
  const oauth =
    spec.oauth && secrets.oauth_client
      ? { ...spec.oauth, client_secret: `\${keyring:${id}.oauth_client}` }
      : spec.oauth;
  return {
    ...spec,
    ...(oauth && { oauth }),
    env: { ...spec.env, ...names(secrets.env) },
    headers: { ...spec.headers, ...names(secrets.headers) },
  };
}

/** Reads the servers in a pasted text. The notes name the settings that a spec leaves out. */
export function readSpecs(text: string): (ParsedSpec & { notes?: string[] })[] {
  if (!text.trim().startsWith("{")) {
    const [command = "", ...args] = text.trim().split(/\s+/);
    return [
      {
        name: command.split("/").at(-1) ?? command,
        spec: spec({ command, args }),
        problem: "",
        likely_secrets: [],
        notes: [],
      },
    ];
  }
  let file: { mcpServers?: Record<string, Partial<ServerSpec> & { autoApprove?: unknown }> };
  try {
    file = JSON.parse(text) as typeof file;
  } catch (thrown) {
    throw new IpcError("invalid", `This is not JSON: ${String(thrown)}`);
  }
  return Object.entries(file.mcpServers ?? {}).map(([name, { autoApprove, ...part }]) => {
    if (part.command === "drawbridge")
      return {
        name,
        spec: null,
        problem: "This entry connects the client to Drawbridge.",
        likely_secrets: [],
        notes: [],
      };
    if (!part.command && !part.url)
      return {
        name,
        spec: null,
        problem: "The entry has neither a command nor a url.",
        likely_secrets: [],
        notes: [],
      };
    const names = Object.keys({ ...part.env, ...part.headers });
    return {
      name,
      spec: spec({ ...part, name }),
      problem: "",
      likely_secrets: names.filter((n) => /key|token|secret|password|authorization/i.test(n)),
      notes: autoApprove
        ? [
            "Not taken over: 'autoApprove'. Drawbridge's policy decides which calls need no approval.",
          ]
        : [],
    };
  });
}
