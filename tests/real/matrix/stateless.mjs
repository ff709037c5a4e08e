// A client of 2026-07-28, on the second official TypeScript SDK. The argument says which server it is for and how to
// get there: {"server", "url", "token"}.
import { Client, LOG_LEVEL_META_KEY, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

import { ELICITED, Heard, ROOTS, SAMPLED, run } from "./features.mjs";

const job = JSON.parse(process.argv[2]);
const client = new Client(
  { name: "matrix", version: "1" },
  { capabilities: { sampling: {}, roots: {}, elicitation: { form: {} } }, versionNegotiation: { mode: { pin: "2026-07-28" } } },
);
client.setRequestHandler("sampling/createMessage", () => SAMPLED);
client.setRequestHandler("roots/list", () => ROOTS);
client.setRequestHandler("elicitation/create", () => ELICITED);

const peer = {
  client,
  updated: new Heard(),
  logged: new Heard(),
  onListChanged: () => {},
  tool: (params, options) => client.callTool(params, options),
  async subscribe(uri) {
    const subscription = await client.listen({ resourceSubscriptions: [uri] });
    return () => subscription.close();
  },
  async listen() {
    const subscription = await client.listen({ toolsListChanged: true });
    return () => subscription.close();
  },
  async wantLogs() {
    return { _meta: { [LOG_LEVEL_META_KEY]: "info" } };
  },
};
client.setNotificationHandler("notifications/resources/updated", ({ params }) => peer.updated.add(params.uri));
client.setNotificationHandler("notifications/message", ({ params }) => peer.logged.add(params));
client.setNotificationHandler("notifications/tools/list_changed", () => peer.onListChanged());

const options = { requestInit: { headers: { Authorization: `Bearer ${job.token}` } } };
await client.connect(new StreamableHTTPClientTransport(new URL(job.url), options));
await run(job, peer);
await client.close();
process.exit(0);
