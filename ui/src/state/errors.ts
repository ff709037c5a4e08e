import { toIpcError } from "../ipc";

/** One sentence for a person, of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  return toIpcError(thrown).message;
}
