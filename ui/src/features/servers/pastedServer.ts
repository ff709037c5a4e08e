import type { ParsedSpec, ServerSpec, VerifiedView } from "../../ipc";
import { toForm, type ServerForm } from "./form";

/** A server that the hub found in a pasted text. */
export interface PastedServer {
  name: string;
  /** The reason why the entry is no server; else empty. */
  problem: string;
  /** Sentences about values that were changed or ignored. */
  notes: string[];
  /** The spec as the hub read it. Its fields that the form does not have are kept. */
  base: Partial<ServerSpec>;
  /** Null if the entry is no server. */
  form: ServerForm | null;
  selected: boolean;
  /** Why the server could not be verified or added; empty if there is no error. */
  error: string;
  result: VerifiedView | null;
}

export function toPastedServer(parsed: ParsedSpec): PastedServer {
  const { name, spec, problem, likely_secrets, notes } = parsed;
  return {
    name,
    problem,
    notes,
    base: spec ?? {},
    selected: spec !== null,
    error: "",
    result: null,
    form: spec ? toForm(spec, name, likely_secrets) : null,
  };
}
