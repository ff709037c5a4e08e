import { toIpcError } from "../ipc";
import { revealText } from "../lib/reveal";

/** One sentence for a person, of whatever was thrown. It may quote a server, so what is hidden in it is drawn. */
export function messageOf(thrown: unknown): string {
  return revealText(toIpcError(thrown).message, { multiline: true });
}
