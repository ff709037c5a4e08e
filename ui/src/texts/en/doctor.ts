/** Texts of the checks and the diagnostics bundle on the Settings screen. */

import type { CheckStatus, DoctorTopic } from "../../ipc/bindings";
import { plural } from "../plural";

const topics: Record<DoctorTopic, string> = {
  hub: "Hub",
  environment: "Environment",
  runtimes: "Runtimes",
  keyring: "Secret store",
  listeners: "Listeners",
  clients: "Clients",
  servers: "Servers",
  database: "Database",
  disk: "Disk",
  clock: "Clock",
  data_folder: "Data folder",
  desktop: "Desktop",
};

const statuses: Record<CheckStatus, string> = {
  ok: "OK",
  warning: "Warning",
  failure: "Failure",
};

export const doctor = {
  title: "Doctor",
  hint: "Checks everything that Drawbridge needs, and says how to solve problems.",
  run: "Run checks",
  running: "Running the checks. This takes a few seconds…",
  columns: { status: "Status", topic: "About", finding: "Finding and remedy" },
  topics,
  statuses,
  summary: (ok: number, warnings: number, failures: number) =>
    `${ok} OK, ${plural(warnings, "warning")}, ${plural(failures, "failure")}.`,

  bundle: {
    open: "Create diagnostics bundle…",
    title: "Diagnostics bundle",
    lead: "A ZIP archive that you can send to somebody who helps you. Secrets, and values that may be secrets, are masked. Read the files before you send them: they name your servers, clients and folders. “drawbridge doctor --bundle FILE.zip” writes the same archive.",
    collecting: "Collecting diagnostics. This takes a few seconds…",
    columns: { file: "File", bytes: "Bytes", content: "Content" },
    download: "Download bundle",
    fileName: "drawbridge-diagnostics.zip",
  },
};
