import { toIpcError } from "../ipc";
import { revealHidden } from "../lib/reveal";

/** Returns the message of an error. Reveals hidden characters, because it may quote a server. */
export function messageOf(thrown: unknown): string {
  return revealHidden(toIpcError(thrown).message, { multiline: true });
}
