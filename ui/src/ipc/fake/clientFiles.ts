/** The clients of the fake hub's computer: there are none. */

import type { Verbs } from "../bindings";
import { IpcError } from "..";

type ConfigVerb = Extract<keyof Verbs, `config.${string}`>;
type ConfigHandlers = {
  [V in ConfigVerb]: (params: Verbs[V]["params"]) => Verbs[V]["answer"];
};

function fail(): never {
  throw new IpcError("not_found", "No client was found on this computer.");
}

export const clientFiles: ConfigHandlers = {
  "config.list": () => ({ kinds: [], changes: [] }),
  "config.show": fail,
  "config.preview": fail,
  "config.apply": fail,
  "config.undo": fail,
  "config.set_restores": fail,
  "config.test": fail,
  "config.find_servers": () => ({ servers: [], unreadable: [], saved_kib: 0 }),
  "config.preview_import": fail,
  "config.import": fail,
};
