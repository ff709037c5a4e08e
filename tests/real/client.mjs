// A client on the official TypeScript SDK. Connects to MCP_URL with MCP_TOKEN, over HTTP+SSE if the
// path of the URL begins with /sse. Lists the tools or calls a tool, and prints the result as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const job = JSON.parse(process.argv[2]);
const url = new URL(process.env.MCP_URL);
const Transport = url.pathname.startsWith("/sse") ? SSEClientTransport : StreamableHTTPClientTransport;
const transport = new Transport(url, {
  requestInit: { headers: { Authorization: `Bearer ${process.env.MCP_TOKEN}` } },
});
const client = new Client({ name: "typescript-sdk", version: "1" });
await client.connect(transport);

async function list() {
  const tools = [];
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return { tools };
}

const result = job.op === "list" ? await list() : await client.callTool({ name: job.name, arguments: job.arguments });
console.log(JSON.stringify(result));
await transport.terminateSession?.();
await client.close();
