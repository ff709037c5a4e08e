// A client with sessions, on the official TypeScript SDK 1.x. The argument is a JSON object with
// the revision and the connection to Drawbridge: {"revision", "url", "token"} for streamable HTTP
// (or for HTTP+SSE if the path of the URL is /sse), {"revision", "command"} for stdio.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema, ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

import { ELICITED, ROOTS, SAMPLED, run } from "./features.mjs";

const job = JSON.parse(process.argv[2]);
// 2024-11-05 has no elicitation.
const lacksElicitation = job.revision === "2024-11-05";
const capabilities = { sampling: {}, roots: { listChanged: true }, ...(lacksElicitation ? {} : { elicitation: { form: {} } }) };
const client = new Client({ name: "matrix", version: "1" }, { capabilities });
client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLED);
client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
if (!lacksElicitation) client.setRequestHandler(ElicitRequestSchema, () => ELICITED);

const peer = {
  client,
  callTool: (params, options) => client.callTool(params, undefined, options),
  async subscribe(uri) {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  },
  async listen() {
    return async () => {};
  },
  async requestLogs() {
    await client.setLoggingLevel("info");
    return {};
  },
};
client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => peer.updated.add(params.uri));
client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => peer.logged.add(params));
client.setNotificationHandler(ToolListChangedNotificationSchema, () => peer.onListChanged());

const transport = createTransport();
const send = transport.send.bind(transport);
// The SDK always requests the newest revision that it supports, so its request is changed.
transport.send = (message, ...rest) => {
  const isInitialize = message.method === "initialize";
  return send(isInitialize ? { ...message, params: { ...message.params, protocolVersion: job.revision } } : message, ...rest);
};
const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (revision) => {
  if (revision !== job.revision) throw new Error(`negotiated ${revision} instead of ${job.revision}`);
  setProtocolVersion?.(revision);
};
await client.connect(transport);
await run(peer);
await client.close();
process.exit(0);

function createTransport() {
  if (job.command) return new StdioClientTransport({ command: job.command[0], args: job.command.slice(1), env: process.env });
  const Transport = new URL(job.url).pathname === "/sse" ? SSEClientTransport : StreamableHTTPClientTransport;
  return new Transport(new URL(job.url), { requestInit: { headers: { Authorization: `Bearer ${job.token}` } } });
}
