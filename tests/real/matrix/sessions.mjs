// A client with sessions, on the official TypeScript SDK. The argument says which revision to speak, and how to
// get to Drawbridge: {"revision", "url", "token"} over streamable HTTP or, where the URL ends with /sse, over HTTP+SSE;
// {"revision", "command"} over stdio. It does everything with each server that a line of stdin names.
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
// What 2024-11-05 does not have, a client of it cannot offer.
const isOld = job.revision === "2024-11-05";
const capabilities = { sampling: {}, roots: { listChanged: true }, ...(isOld ? {} : { elicitation: { form: {} } }) };
const client = new Client({ name: "matrix", version: "1" }, { capabilities });
client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLED);
client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
if (!isOld) client.setRequestHandler(ElicitRequestSchema, () => ELICITED);

const peer = {
  client,
  tool: (params, options) => client.callTool(params, undefined, options),
  async subscribe(uri) {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  },
  async listen() {
    return async () => {};
  },
  async wantLogs() {
    await client.setLoggingLevel("info");
    return {};
  },
};
client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => peer.updated.add(params.uri));
client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => peer.logged.add(params));
client.setNotificationHandler(ToolListChangedNotificationSchema, () => peer.onListChanged());

const transport = open();
const send = transport.send.bind(transport);
// The SDK itself always asks for the newest revision that it knows.
transport.send = (message, ...rest) => {
  const isHello = message.method === "initialize";
  return send(isHello ? { ...message, params: { ...message.params, protocolVersion: job.revision } } : message, ...rest);
};
const noted = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (revision) => {
  if (revision !== job.revision) throw new Error(`${revision} is spoken, not ${job.revision}`);
  noted?.(revision);
};
await client.connect(transport);
await run(peer);
await client.close();
process.exit(0);

function open() {
  if (job.command) return new StdioClientTransport({ command: job.command[0], args: job.command.slice(1), env: process.env });
  const Transport = new URL(job.url).pathname === "/sse" ? SSEClientTransport : StreamableHTTPClientTransport;
  return new Transport(new URL(job.url), { requestInit: { headers: { Authorization: `Bearer ${job.token}` } } });
}
