import type { ServerSpec, VerifiedView } from "../../ipc";
import type { ServerForm } from "./form";

/** A server that was found in a pasted text. */
export interface Entry {
  name: string;
  problem: string;
  base: Partial<ServerSpec>;
  /** None where the entry cannot be a server. */
  form: ServerForm | null;
  chosen: boolean;
  error: string;
  result: VerifiedView | null;
}
