/** The clients that ask the fake hub to be paired. */

import type { ClientView, Event, PairingRequest, Profile, Verbs } from "../bindings";
import { IpcError } from "..";
import * as data from "./data";

type PairingVerb = Extract<keyof Verbs, `pairing.${string}`>;
type PairingHandlers = {
  [V in PairingVerb]: (params: Verbs[V]["params"]) => Verbs[V]["answer"];
};

/** The part of the fake hub that pairing uses. */
interface PairingHub {
  pairings: PairingRequest[];
  clients: ClientView[];
  profiles: Profile[];
  emit(event: Event): void;
}

export function pairingRequest(part: Partial<PairingRequest> = {}): PairingRequest {
  return {
    id: "pairing-1",
    name: "notes-assistant",
    suggested_name: part.name ?? "notes-assistant",
    has_token: true,
    revoked_client: null,
    program: {
      pid: 4711,
      executable: "/home/ada/.local/bin/notes-assistant",
      folder: "/home/ada/notes",
    },
    asked_at: Date.now(),
    remaining_ms: 300_000,
    ...part,
  };
}

export function pairing(hub: PairingHub): PairingHandlers {
  return {
    "pairing.list": () => hub.pairings,
    "pairing.answer": ({ id, approve, name, profile }) => {
      const request = hub.pairings.find((waiting) => waiting.id === id);
      if (!request)
        throw new IpcError(
          "conflict",
          `No client with the id '${id}' waits to be paired; it was answered, timed out or disconnected.`,
        );
      const client = name ?? request.suggested_name;
      if (approve) addClient(hub, client, profile);
      hub.pairings = hub.pairings.filter((waiting) => waiting.id !== id);
      hub.emit({ kind: "pairing_ended", id });
      return { client: approve ? client : null };
    },
  };
}

function addClient(hub: PairingHub, name: string, profile: string | null): void {
  if (hub.clients.some((client) => client.name === name && client.revoked_at === null))
    throw new IpcError(
      "conflict",
      `A client named '${name}' already exists; revoke it first, or choose another name.`,
    );
  if (profile !== null && !hub.profiles.some((known) => known.name === profile))
    throw new IpcError("not_found", `There is no profile '${profile}'.`);
  hub.clients = data.addClient(hub.clients, name, profile);
  hub.emit({ kind: "clients_changed" });
}
