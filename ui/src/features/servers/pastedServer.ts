import type { ServerSpec, VerifiedView } from "../../ipc";
import type { ServerForm } from "./form";

/** A server that the hub found in a pasted text. */
export interface PastedServer {
  name: string;
  /** The reason why the entry is no server; else empty. */
  problem: string;
  base: Partial<ServerSpec>;
  /** Null if the entry is no server. */
  form: ServerForm | null;
  selected: boolean;
  error: string;
  result: VerifiedView | null;
}
