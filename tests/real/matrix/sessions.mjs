// A client with sessions, on the official TypeScript SDK. The argument says which server it is for and how to get there:
// {"server", "url", "token"} over streamable HTTP or, where the URL ends with /sse, over HTTP+SSE as a client of
// 2024-11-05; {"server", "command"} over stdio.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema, ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

import { ELICITED, Heard, ROOTS, SAMPLED, run } from "./features.mjs";

const job = JSON.parse(process.argv[2]);
const isOld = job.url?.endsWith("/sse") ?? false;
// What 2024-11-05 does not have, a client of it cannot offer.
const capabilities = { sampling: {}, roots: { listChanged: true }, ...(isOld ? {} : { elicitation: { form: {} } }) };
const client = new Client({ name: "matrix", version: "1" }, { capabilities });
client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLED);
client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
if (!isOld) client.setRequestHandler(ElicitRequestSchema, () => ELICITED);

const peer = {
  client,
  updated: new Heard(),
  logged: new Heard(),
  onListChanged: () => {},
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

await client.connect(transport());
await run(job, peer);
await client.close();
process.exit(0);

function transport() {
  if (job.command) return new StdioClientTransport({ command: job.command[0], args: job.command.slice(1), env: process.env });
  const options = { requestInit: { headers: { Authorization: `Bearer ${job.token}` } } };
  if (!isOld) return new StreamableHTTPClientTransport(new URL(job.url), options);
  const old = new SSEClientTransport(new URL(job.url), options);
  const send = old.send.bind(old);
  old.send = (message, ...rest) => {
    const isHello = message.method === "initialize";
    return send(isHello ? { ...message, params: { ...message.params, protocolVersion: "2024-11-05" } } : message, ...rest);
  };
  return old;
}
