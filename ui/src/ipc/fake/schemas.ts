/** The schemas of the tools in the fake hub. */

import type { JsonValue, ToolView } from "../bindings";

const PATH_SCHEMA = {
  type: "object",
  properties: { path: { type: "string", description: "Path inside an allowed folder" } },
  required: ["path"],
};

const WRITE_FILE_SCHEMA = {
  type: "object",
  required: ["path", "content"],
  additionalProperties: false,
  properties: { path: { type: "string" }, content: { type: "string" } },
};

/** Returns the schema of a tool's arguments. */
export function inputSchema(tool: ToolView): JsonValue {
  return tool.name === "write_file" ? WRITE_FILE_SCHEMA : PATH_SCHEMA;
}
