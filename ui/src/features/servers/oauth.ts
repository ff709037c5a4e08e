/** The OAuth client that a person registered for a server, as fields of its form. */

import type { OauthClient, ServerSpec } from "../../ipc";
import { referenceOf } from "./reference";

export interface OauthForm {
  /** Empty if Drawbridge registers itself. */
  clientId: string;
  secret: string;
  /** The value in the spec that names the keyring; it stays so until it is replaced. */
  kept: string | null;
  /** Of the redirect URI; empty for any. */
  port: string;
}

export type OauthFaults = Partial<Record<"clientId" | "port", string>>;

export function oauthOf(spec: Partial<ServerSpec>): OauthForm {
  const { client_id: clientId = "", client_secret: secret, callback_port: port } = spec.oauth ?? {};
  const kept = secret && referenceOf(secret) !== null ? secret : null;
  return { clientId, secret: kept ? "" : (secret ?? ""), kept, port: port ? String(port) : "" };
}

export function oauthFaults(form: OauthForm): OauthFaults {
  const faults: OauthFaults = {};
  const port = form.port.trim();
  if (form.clientId.trim() === "" && (form.secret !== "" || form.kept !== null || port !== ""))
    faults.clientId = "Give the client's id, or empty its other fields.";
  if (port !== "" && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535))
    faults.port = "Give a port from 1 to 65535.";
  return faults;
}

/** The client for the spec. A secret that was typed is not in it: it goes to the keyring. */
export function oauthSpec(form: OauthForm): OauthClient | null {
  const clientId = form.clientId.trim();
  if (clientId === "") return null;
  const port = form.port.trim();
  return {
    client_id: clientId,
    ...(form.kept && { client_secret: form.kept }),
    ...(port && { callback_port: Number(port) }),
  };
}

/** The secret for the keyring, if one was typed. */
export function oauthSecret(form: OauthForm): string | null {
  return form.kept === null && form.secret !== "" && form.clientId.trim() !== ""
    ? form.secret
    : null;
}
