/** The OAuth client that a person registered for a server, as fields of its form. */

import type { OauthClient, ServerSpec } from "../../ipc";
import { refersToVariableOrCommand } from "../../state/specSecrets";
import { texts } from "../../texts";
import { parseSecretReference } from "./secretReference";

export interface OauthForm {
  /** Empty if Drawbridge registers itself. */
  clientId: string;
  secret: string;
  /** The reference to a secret in the spec; null if there is none or the secret is replaced. */
  reference: string | null;
  /** The port of the redirect URI; empty for any port. */
  port: string;
}

export type OauthErrors = Partial<Record<"clientId" | "port", string>>;

export function toOauthForm(spec: Partial<ServerSpec>): OauthForm {
  const { client_id: clientId = "", client_secret: secret, callback_port: port } = spec.oauth ?? {};
  const isReference = (text: string) =>
    parseSecretReference(text) !== null || refersToVariableOrCommand(text);
  const reference = secret && isReference(secret) ? secret : null;
  return {
    clientId,
    secret: reference ? "" : (secret ?? ""),
    reference,
    port: port ? String(port) : "",
  };
}

export function validateOauth(form: OauthForm): OauthErrors {
  const t = texts.servers.form.oauth;
  const errors: OauthErrors = {};
  const port = form.port.trim();
  if (form.clientId.trim() === "" && (form.secret !== "" || form.reference !== null || port !== ""))
    errors.clientId = t.clientIdMissing;
  if (port !== "" && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535))
    errors.port = t.portInvalid;
  return errors;
}

/** Returns the client for the spec, without a newly entered secret, which is stored apart. */
export function toOauthClient(form: OauthForm): OauthClient | null {
  const clientId = form.clientId.trim();
  if (clientId === "") return null;
  const port = form.port.trim();
  return {
    client_id: clientId,
    ...(form.reference && { client_secret: form.reference }),
    ...(port && { callback_port: Number(port) }),
  };
}

/** Returns the newly entered secret to store, if there is one. */
export function readOauthSecret(form: OauthForm): string | null {
  return form.reference === null && form.secret !== "" && form.clientId.trim() !== ""
    ? form.secret
    : null;
}
