// A server on the official TypeScript SDK 1.x.
// Usage: typescript1.mjs (stdio | http | stateless) [PORT]
import { randomUUID } from "node:crypto";
import express from "express";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const [transport, port] = process.argv.slice(2);

function createServer() {
  const server = new McpServer({ name: "typescript1", version: "1.0.0" }, { instructions: "Be kind. ❤" });
  server.registerTool(
    "shape",
    {
      title: "Shape",
      description: "Takes one of two shapes.",
      inputSchema: {
        shape: z.union([z.object({ kind: z.literal("round"), r: z.number().positive() }), z.object({ kind: z.literal("flat") }).strict()]),
        labels: z.record(z.string(), z.array(z.number()).max(2)).optional(),
      },
      outputSchema: { area: z.number(), labels: z.array(z.string()) },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ shape, labels }) => {
      const structuredContent = { area: shape.kind === "round" ? shape.r ** 2 * 3 : 0, labels: Object.keys(labels ?? {}) };
      return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
    },
  );
  server.registerTool("coerced", { description: "Converts.", inputSchema: { n: z.coerce.number() } }, ({ n }) => ({
    content: [{ type: "text", text: `${n + 1}` }],
  }));
  server.registerTool("link", {}, () => ({
    content: [
      { type: "resource_link", uri: "doc://listed", name: "listed" },
      { type: "resource_link", uri: "other://unlisted", name: "unlisted", _meta: { "example.com/a": [1, "2"] } },
    ],
  }));
  server.registerTool("fail", { description: "Fails." }, () => {
    throw new Error("no “luck” today");
  });
  const text = (uri, text) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text }] });
  server.registerResource("listed", "doc://listed", { title: "Listed", mimeType: "text/plain" }, (uri) => text(uri, "listed\n"));
  const template = new ResourceTemplate("doc://part/{name}", { list: () => ({ resources: [{ uri: "doc://part/a", name: "a" }] }) });
  server.registerResource("part", template, { description: "A part" }, (uri, { name }) => text(uri, `part ${name}`));
  server.registerPrompt("greet", { title: "Greet", argsSchema: { who: z.string() } }, ({ who }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Hello, ${who}` } }],
  }));
  return server;
}

if (transport === "stdio") {
  await createServer().connect(new StdioServerTransport());
} else {
  const sessions = new Map();
  const app = express().use(express.json());
  app.all("/mcp", async (request, response) => {
    let session = sessions.get(request.headers["mcp-session-id"]);
    if (!session) {
      const stateful = { sessionIdGenerator: randomUUID, onsessioninitialized: (id) => sessions.set(id, session) };
      const stateless = { sessionIdGenerator: undefined, enableJsonResponse: true };
      session = new StreamableHTTPServerTransport(transport === "stateless" ? stateless : stateful);
      await createServer().connect(session);
    }
    await session.handleRequest(request, response, request.body);
  });
  app.listen(Number(port), "127.0.0.1");
}
