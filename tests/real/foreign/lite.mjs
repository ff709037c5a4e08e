// A server on mcp-lite, which implements the protocol without an official SDK.
// Usage: lite.mjs (http | stateless) PORT
import { InMemoryClientRequestAdapter, InMemorySessionAdapter, McpServer, StreamableHttpTransport } from "mcp-lite";

import { listen } from "./fetch.mjs";

const [transport, port] = process.argv.slice(2);
const server = new McpServer({ name: "lite", version: "0.1.0" });
const text = (text) => ({ content: [{ type: "text", text }] });
server.tool("echo", {
  description: "Echoes.",
  inputSchema: { type: "object", properties: { value: {} }, required: ["value"], examples: [{ value: 1 }] },
  handler: ({ value }) => text(JSON.stringify(value)),
});
server.tool("measure", {
  title: "Measure",
  description: "Measures.",
  inputSchema: { type: "object", properties: { of: { type: "string", format: "uri" } } },
  outputSchema: { type: "object", properties: { length: { type: "integer" } }, required: ["length"] },
  handler: ({ of }) => ({ ...text(`${of.length}`), structuredContent: { length: of.length } }),
});
server.tool("fail", {
  handler: () => {
    throw new Error("it failed");
  },
});
server.resource("file:///etc/motd", { name: "motd", mimeType: "text/plain" }, () => ({
  contents: [{ uri: "file:///etc/motd", type: "text", text: "hello" }],
}));
server.resource("item://{id}", { description: "An item" }, (uri, { id }) => ({
  contents: [{ uri: uri.href, type: "text", text: `item ${id}` }],
}));
server.prompt("greet", { description: "Greets.", arguments: [{ name: "who", required: true }], handler: ({ who }) => ({
  messages: [{ role: "user", content: { type: "text", text: `Hello, ${who}` } }],
}) });
const sessions = { sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 64 }), clientRequestAdapter: new InMemoryClientRequestAdapter() };
const handle = new StreamableHttpTransport(transport === "http" ? sessions : {}).bind(server);
listen(Number(port), handle);
