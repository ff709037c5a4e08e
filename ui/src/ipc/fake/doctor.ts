/** The findings of the doctor of the fake hub. */

import type { CheckStatus, DiagnosticsBundle, DoctorReport, DoctorTopic } from "..";

const CHECKS: [CheckStatus, DoctorTopic, string, string?][] = [
  ["ok", "hub", "The hub of /home/ada/.local/share/drawbridge runs."],
  ["ok", "environment", "Drawbridge 0.1.0 on linux (x86_64)."],
  ["ok", "runtimes", "npx 10.9.0 (/usr/bin/npx)."],
  [
    "failure",
    "runtimes",
    "Drawbridge cannot find 'uvx', and a server needs it.",
    "Install uv: `curl -LsSf https://astral.sh/uv/install.sh | sh`.",
  ],
  ["ok", "keyring", "Secrets are in the keyring, which is ready."],
  ["ok", "listeners", "The listener http (http://127.0.0.1:8765/mcp) listens."],
  [
    "warning",
    "clients",
    "Drawbridge's entry in the file /home/ada/.cursor/mcp.json of Cursor was changed by another program.",
    "Repair the entry on the Clients screen, or with `drawbridge config connect cursor`.",
  ],
  ["ok", "database", "The database is intact."],
  ["ok", "disk", "81920 MiB are free on the disk of /home/ada/.local/share/drawbridge."],
  ["ok", "clock", "The clock is not behind the newest record."],
  ["ok", "desktop", "The desktop shows tray icons (org.kde.StatusNotifierWatcher)."],
];

export function doctorReport(): DoctorReport {
  return {
    version: "0.1.0",
    checked_at: Date.now(),
    checks: CHECKS.map(([status, topic, text, remedy]) => ({
      status,
      topic,
      text,
      remedy: remedy ?? "",
    })),
  };
}

/** Returns a bundle whose archive is an empty ZIP file. */
export function diagnosticsBundle(): DiagnosticsBundle {
  return {
    report: doctorReport(),
    files: [
      { name: "versions.json", content: "versions of the programs", bytes: 120 },
      { name: "doctor.json", content: "the report of the doctor", bytes: 2_400 },
      {
        name: "servers/github.json",
        content: "the spec of a server, with masked values",
        bytes: 310,
      },
      { name: "logs/hub.log", content: "the newest lines of the log", bytes: 48_200 },
      { name: "README.txt", content: "the content of this archive", bytes: 640 },
    ],
    zip: btoa("PK\x05\x06" + "\0".repeat(18)),
  };
}
