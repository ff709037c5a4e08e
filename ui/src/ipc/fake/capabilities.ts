/**
 * The prompts and resources of the fake hub, its results of the requests that a person sends from
 * a server's page, and its checks of specs and servers.
 */

import { IpcError, type CapabilityView, type CheckedSpec, type PreflightCheck } from "..";
import type { JsonValue, ServerSpec, ServerView } from "../bindings";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAYAAAAf8/9hAAAAIElEQVR42mNk+M9QTwYGBgYmBgrBqAGjBowaMGrAYDEAAJ3EAh/Hh2PZAAAAAElFTkSuQmCC";

function entry(part: Pick<CapabilityView, "kind" | "name" | "definition">): CapabilityView {
  return {
    exposed_name: part.name,
    hidden: "",
    acceptance: "accepted",
    digest: "5f2b".repeat(16),
    effect: "allow",
    flags: [],
    ...part,
  };
}

/** Returns the prompts, resources and templates of a server. Only `filesystem` has entries. */
export function capabilityEntries(id: string): CapabilityView[] {
  if (id !== "filesystem") return [];
  return [
    {
      ...entry({
        kind: "prompts",
        name: "summarize_folder",
        definition: {
          name: "summarize_folder",
          title: "Summarize a folder",
          description: "Asks for a summary of the files in a folder.",
          arguments: [
            { name: "path", description: "The folder", required: true },
            { name: "style", description: "short or long" },
          ],
        },
      }),
      exposed_name: "filesystem__summarize_folder",
    },
    entry({
      kind: "resources",
      name: "file:///home/ada/Projects/README.md",
      definition: {
        uri: "file:///home/ada/Projects/README.md",
        name: "README.md",
        mimeType: "text/markdown",
      },
    }),
    entry({
      kind: "templates",
      name: "file:///home/ada/Projects/{path}",
      definition: {
        uriTemplate: "file:///home/ada/Projects/{path}",
        name: "Project files",
        description: "Any file of the projects.",
      },
    }),
  ];
}

/** Answers a call of a tool with blocks of several types. */
export function callResult(name: string, values: unknown): JsonValue {
  return {
    content: [
      { type: "text", text: `${name} was called.` },
      { type: "text", text: JSON.stringify({ arguments: values }) },
      { type: "image", data: PIXEL, mimeType: "image/png" },
      { type: "resource_link", uri: "file:///home/ada/Projects/a.txt", name: "a.txt" },
      {
        type: "resource",
        resource: { uri: "file:///home/ada/Projects/b.txt", text: "The text of b." },
      },
    ],
  };
}

export function promptResult(name: string, values: unknown): JsonValue {
  return {
    messages: [
      { role: "user", content: { type: "text", text: `${name}: ${JSON.stringify(values)}` } },
    ],
  };
}

export function resourceResult(uri: string): JsonValue {
  return { contents: [{ uri, mimeType: "text/plain", text: "The text of the resource." }] };
}

/** Checks the text of a spec. The only unknown field that it finds is the misspelt `comand`. */
export function checkSpec(text: string): CheckedSpec {
  try {
    const spec = JSON.parse(text) as ServerSpec;
    if (spec.command !== undefined || spec.url !== undefined)
      return { spec, fault: null, unknown_fields: "comand" in spec ? ["comand"] : [] };
    const message = "a server needs a 'command' or a 'url'";
    return { spec: null, fault: { line: 0, column: 0, message }, unknown_fields: [] };
  } catch {
    const fault = { line: 2, column: 3, message: "expected `,` or `}`" };
    return { spec: null, fault, unknown_fields: [] };
  }
}

export function preflightChecks(server: ServerView): PreflightCheck[] {
  const isAccepted = server.acceptance === "accepted";
  const { command, url } = server.spec;
  return [
    { topic: "enabled", status: "ok", text: "The server is enabled.", remedy: "" },
    isAccepted
      ? { topic: "acceptance", status: "ok", text: "You accepted the server as it is.", remedy: "" }
      : {
          topic: "acceptance",
          status: "failure",
          text: "The server has changed since you accepted it.",
          remedy: `Check what the server would start, and accept it, or run \`drawbridge servers accept ${server.id}\`.`,
        },
    ...(command
      ? [
          {
            topic: "program" as const,
            status: "ok" as const,
            text: `The program is /usr/bin/${command}.`,
            remedy: "",
          },
        ]
      : []),
    ...(url
      ? [{ topic: "address" as const, status: "ok" as const, text: `${url} answers.`, remedy: "" }]
      : []),
  ];
}

/** The error of a server that ends at once, with the lines that it printed. */
export function failedStart(): IpcError {
  return new IpcError(
    "unavailable",
    [
      "The server printed “npm error 404 Not Found - GET https://example.com/@x%2fy”. The program ended with exit code 1 before it answered. Check the command.",
      "The last 3 lines that it printed:",
      "npm error code E404",
      "npm error 404 Not Found - GET https://example.com/@x%2fy",
      "npm error A complete log of this run can be found in: /home/ada/.npm/_logs/debug-0.log",
    ].join("\n"),
  );
}
