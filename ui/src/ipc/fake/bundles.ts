/** The MCP bundle of the fake hub. */

import { IpcError, type Verbs } from "..";
import type { AddBundle, BundleSource, BundleView } from "../bindings";
import { choice, fillManifest, input, RUNTIMES } from "./manifests";

/** The first bytes of every zip archive, in base64. */
const ZIP_START = "UEsD";

const NOTES: BundleView = {
  name: "notes",
  title: "Notes",
  version: "1.2.0",
  description: "Reads and writes the notes in a folder.",
  author: "Ada",
  server_type: "node",
  tools: [
    { name: "search_notes", description: "Finds notes by their words" },
    { name: "write_note", description: "Writes a note" },
  ],
  tools_generated: false,
  choice: choice("Notes 1.2.0", {
    preview: "node <__dirname>/server/index.js <folder>",
    runtime: "node",
    inputs: [
      input("folder", {
        description: "Folder: your notes",
        required: true,
        repeated: true,
        format: "path",
      }),
      input("limit", {
        description: "Limit: notes in an answer",
        default: "10",
        format: "number",
        min: 1,
        max: 100,
      }),
      input("key", { kind: "env", secret: true, description: "Key: of the search service" }),
    ],
  }),
  runtime: RUNTIMES.find(({ runtime }) => runtime === "node") ?? null,
  runtime_version: ">=20",
};

export function openBundle(source: BundleSource): BundleView {
  if ("path" in source ? !source.path.endsWith(".mcpb") : !source.base64.startsWith(ZIP_START))
    throw new IpcError(
      "invalid",
      "this is not an MCP bundle: it cannot be read as a zip archive. Download it again, or ask its author",
    );
  return NOTES;
}

/** Returns the params of `servers.add` after the bundle was unpacked. */
export function fillBundle({
  source,
  name,
  values,
  secrets,
}: AddBundle): Verbs["servers.fill_manifest"]["answer"] {
  const bundle = openBundle(source);
  const manifest = { ...bundle, choices: [bundle.choice] };
  return fillManifest({ source: { text: "" }, choice: 0, name, values, secrets }, manifest);
}
