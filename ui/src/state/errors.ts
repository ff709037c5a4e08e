import { toIpcError } from "../ipc";
import { revealText } from "../lib/reveal";

/** Returns the message of an error. Reveals hidden characters, because it may quote a server. */
export function messageOf(thrown: unknown): string {
  return revealText(toIpcError(thrown).message, { multiline: true });
}
