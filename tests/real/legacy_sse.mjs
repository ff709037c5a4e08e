// Serves a stdio server over HTTP+SSE, the transport of revision 2024-11-05. Starts a process for
// each connection, and forwards the messages in both directions. The arguments are the command of
// the server.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";

const [program, ...args] = process.argv.slice(2);
const connections = new Map();

async function open(response) {
  const transport = new SSEServerTransport("/messages", response);
  const server = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  connections.set(transport.sessionId, transport);
  transport.onmessage = (message) => server.stdin.write(`${JSON.stringify(message)}\n`);
  transport.onclose = () => {
    connections.delete(transport.sessionId);
    server.stdin.end();
  };
  await transport.start();
  createInterface(server.stdout).on("line", (line) => transport.send(JSON.parse(line)).catch(() => {}));
}

const listener = createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  if (request.method === "GET" && url.pathname === "/sse") return open(response);
  const connection = connections.get(url.searchParams.get("sessionId"));
  if (request.method === "POST" && connection) return connection.handlePostMessage(request, response);
  return response.writeHead(404).end();
});
listener.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${listener.address().port}/sse`));
