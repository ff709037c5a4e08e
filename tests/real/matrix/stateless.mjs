// A client without sessions, on the official TypeScript SDK 2. The argument is a JSON object with
// the revision and the connection to Drawbridge: {"revision", "url", "token"} for streamable HTTP,
// {"revision", "command"} for stdio.
import { Client, LOG_LEVEL_META_KEY, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { ELICITED, ROOTS, SAMPLED, run } from "./features.mjs";

const job = JSON.parse(process.argv[2]);
const client = new Client(
  { name: "matrix", version: "1" },
  {
    capabilities: { sampling: {}, roots: {}, elicitation: { form: {} } },
    versionNegotiation: { mode: { pin: job.revision } },
  },
);
client.setRequestHandler("sampling/createMessage", () => SAMPLED);
client.setRequestHandler("roots/list", () => ROOTS);
client.setRequestHandler("elicitation/create", () => ELICITED);

const peer = {
  client,
  callTool: (params, options) => client.callTool(params, options),
  async subscribe(uri) {
    const subscription = await client.listen({ resourceSubscriptions: [uri] });
    return () => subscription.close();
  },
  async listen() {
    const subscription = await client.listen({ toolsListChanged: true });
    return () => subscription.close();
  },
  async requestLogs() {
    return { _meta: { [LOG_LEVEL_META_KEY]: "info" } };
  },
};
client.setNotificationHandler("notifications/resources/updated", ({ params }) => peer.updated.add(params.uri));
client.setNotificationHandler("notifications/message", ({ params }) => peer.logged.add(params));
client.setNotificationHandler("notifications/tools/list_changed", () => peer.onListChanged());

await client.connect(createTransport());
await run(peer);
await client.close();
process.exit(0);

function createTransport() {
  if (job.command) return new StdioClientTransport({ command: job.command[0], args: job.command.slice(1), env: process.env });
  const options = { requestInit: { headers: { Authorization: `Bearer ${job.token}` } } };
  return new StreamableHTTPClientTransport(new URL(job.url), options);
}
