// A server on the official TypeScript SDK 2. Usage: typescript2.mjs (stdio | http) [PORT]
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod/v4";

import { listen } from "./fetch.mjs";

const [transport, port] = process.argv.slice(2);

function createServer() {
  const server = new McpServer({ name: "typescript2", version: "2.0.0" }, { instructions: "Second generation" });
  server.registerTool(
    "sum",
    {
      title: "Sum",
      description: "Adds up.",
      inputSchema: z.object({ numbers: z.array(z.number()).min(1), unit: z.enum(["m", "ft"]).default("m") }),
      outputSchema: z.object({ sum: z.number(), unit: z.string() }),
      annotations: { idempotentHint: true },
      _meta: { "example.com/weight": 0.5 },
    },
    ({ numbers, unit }) => {
      const structuredContent = { sum: numbers.reduce((a, b) => a + b, 0), unit };
      return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
    },
  );
  server.registerTool("link", { description: "Links." }, () => ({
    content: [{ type: "resource_link", uri: "other://unlisted", name: "unlisted" }],
  }));
  server.registerTool("fail", { description: "Fails." }, () => {
    throw new Error("no “luck” today");
  });
  server.registerResource("doc", "doc://one", { title: "One", mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, text: "uno" }],
  }));
  server.registerPrompt("greet", { description: "Greets.", argsSchema: z.object({ who: z.string() }) }, ({ who }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Hello, ${who}` } }],
  }));
  return server;
}

if (transport === "stdio") {
  serveStdio(createServer);
} else {
  const handler = createMcpHandler(createServer);
  listen(Number(port), (request) => handler.fetch(request));
}
