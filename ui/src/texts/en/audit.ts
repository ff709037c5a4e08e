/** Texts of the Audit screen. */

import type { AuditKind } from "../../ipc/bindings";
import { plural } from "../plural";

const kinds: Record<AuditKind, string> = {
  began: "Audit began",
  broken: "Damage found",
  decided: "Request decided",
  ended: "Request ended",
  policy_changed: "Policy changed",
  server_added: "Server added",
  server_changed: "Server changed",
  server_removed: "Server removed",
  server_accepted: "Server accepted",
  definition_changed: "Definition changed",
  definition_accepted: "Definition accepted",
  spec_verified: "Spec verified",
  retry_allowed: "Retry allowed",
  paused: "Calls paused",
  resumed: "Calls resumed",
  client_added: "Client added",
  client_changed: "Client changed",
  client_revoked: "Client revoked",
  pairing_requested: "Client asked to be paired",
  pairing_approved: "Pairing approved",
  pairing_denied: "Pairing denied",
  client_files_changed: "Client files changed",
  profile_changed: "Profile changed",
  hook_changed: "Hook changed",
  settings_changed: "Settings changed",
  secret_set: "Secret stored",
  secret_removed: "Secret removed",
  secret_store_changed: "Secrets moved or encrypted anew",
  signed_in: "Signed in to a server",
  signed_out: "Signed out of a server",
  browser_signed_in: "Browser signed in",
  browser_signed_out: "Browser signed out",
  browser_refused: "Sign-in code refused",
  token_refused: "Token refused",
  replacement_prepared: "A restore or a reset was prepared or cancelled",
  backup_restored: "Backup restored",
  pruned: "Old entries deleted",
};

export const audit = {
  title: "Audit",
  lead: "Every change of servers, clients, profiles, the policy, hooks, secrets and the settings, and other events such as sign-ins and pauses. The Calls screen lists the requests.",
  kinds,

  verify: "Verify",
  verified: (entries: number) =>
    `${plural(entries, "entry", "entries")} verified. None was changed.`,
  damaged: (seq: number, reason: string) => `Entry ${seq} is not as Drawbridge wrote it: ${reason}`,
  refresh: "Refresh",

  filters: "Filter the audit log",
  kind: "Kind",
  allKinds: "All kinds",
  text: "Text",
  textPlaceholder: "Server, client or other detail",
  count: (found: number) => plural(found, "entry", "entries"),
  countOfNewest: (found: number, newest: number) =>
    `${found} of the newest ${plural(newest, "entry", "entries")}`,
  loading: "Reading the audit log…",
  noMatch: "No entry matches these filters. Change or clear a filter.",
  noMatchYet:
    "None of the newest entries matches these filters. Show older entries, or change a filter.",
  showOlder: "Show older entries",

  caption: "Entries of the audit log, newest first",
  time: "Time",
  number: "Number",
  details: "Details",
  /** The author of a change, by the value in the entry. */
  authors: {
    person: "by you",
    file: "by another program",
    drawbridge: "by Drawbridge",
    trust: "because the spec says so",
    first_sync: "at the server's first sync",
  },
  noValue: "none",
  noDetails: "This entry has no details.",
  itemCount: (name: string, count: number) => `${name}: ${count}`,

  exportHint:
    "To save the records of all requests, each with the number and hash of its entry in the audit log, run this command:",
  exportCommand: "drawbridge audit export --output calls.jsonl",
  copyExportCommand: "Copy the command",
};
