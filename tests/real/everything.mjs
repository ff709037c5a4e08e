// A client on the official TypeScript SDK that can do everything: it does each thing once with the public server of
// every feature, directly or through Drawbridge, and prints what it got as JSON. The argument says which:
// {"command": [...]} or {"url": "...", "token": "...", "prefix": "everything__"}.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const job = JSON.parse(process.argv[2]);
const prefix = job.prefix ?? "";
const transport = job.command
  ? new StdioClientTransport({ command: job.command[0], args: job.command.slice(1), stderr: "ignore" })
  : new StreamableHTTPClientTransport(new URL(job.url), { requestInit: { headers: { Authorization: `Bearer ${job.token}` } } });
const client = new Client(
  { name: "typescript-sdk", version: "1" },
  { capabilities: { sampling: { context: {}, tools: {} }, elicitation: { form: {}, url: {} }, roots: { listChanged: true } } },
);

const asked = [];
client.setRequestHandler(CreateMessageRequestSchema, (request) => {
  asked.push(request.params.messages.at(-1)?.content);
  return { role: "assistant", model: "a-model", content: { type: "text", text: "sampled by the client" } };
});
client.setRequestHandler(ElicitRequestSchema, (request) => {
  asked.push(Object.keys(request.params.requestedSchema?.properties ?? {}));
  return { action: "decline" };
});
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///desk", name: "desk" }] }));

// What the server says by itself, each as something to wait for.
const updated = new Promise((resolve) => {
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri));
});
client.setNotificationHandler(LoggingMessageNotificationSchema, () => {});

await client.connect(transport);
const tool = (name, args = {}, options = undefined) => client.callTool({ name: `${prefix}${name}`, arguments: args }, undefined, options);
const bare = (name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name);
const failed = async (doing) => {
  try {
    await doing;
    return "no error";
  } catch (error) {
    return error.code ?? String(error);
  }
};

const got = {};
const { tools } = await client.listTools();
got.tools = tools.map((one) => ({ ...one, name: bare(one.name) })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
got.echo = await tool("echo", { message: "hi" });
got.structured = await tool("get-structured-content", { location: "New York" });
got.image = await tool("get-tiny-image");
got.annotated = await tool("get-annotated-message", { messageType: "success", includeImage: true });
got.links = await tool("get-resource-links", { count: 2 });
got.bad_arguments = await failed(tool("get-sum", { a: "x" }).then((result) => { if (result.isError) throw Object.assign(new Error(), { code: "isError" }); }));

const { prompts } = await client.listPrompts();
got.prompts = prompts.map((one) => ({ ...one, name: bare(one.name) }));
got.prompt = await client.getPrompt({ name: `${prefix}args-prompt`, arguments: { city: "Paris", state: "x" } });
got.no_prompt = await failed(client.getPrompt({ name: `${prefix}none` }));
got.completion = await client.complete({ ref: { type: "ref/prompt", name: `${prefix}completable-prompt` }, argument: { name: "department", value: "E" } });

got.resources = await client.listResources();
got.templates = await client.listResourceTemplates();
got.resource = await client.readResource({ uri: got.resources.resources[0].uri });
got.no_resource = await failed(client.readResource({ uri: "demo://none/at/all" }));

const progress = [];
got.long = await tool("trigger-long-running-operation", { duration: 1, steps: 4 }, { onprogress: (one) => progress.push(one) });
got.progress = progress;
got.sampled = await tool("trigger-sampling-request", { prompt: "say something", maxTokens: 10 });
got.elicited = await tool("trigger-elicitation-request");
got.roots = await tool("get-roots-list");
got.asked = asked;

const cancelling = new AbortController();
const cancelled = failed(tool("trigger-long-running-operation", { duration: 30, steps: 60 }, { signal: cancelling.signal, onprogress: () => cancelling.abort("enough") }));
got.cancelled = (await cancelled) !== "no error";

await client.setLoggingLevel("debug");
const uri = got.resources.resources[0].uri;
await client.subscribeResource({ uri });
await tool("toggle-subscriber-updates");
got.updated = await Promise.race([updated, new Promise((resolve) => { setTimeout(() => resolve("nothing came"), 15_000); })]);
await tool("toggle-subscriber-updates");
await client.unsubscribeResource({ uri });

console.log(JSON.stringify(got));
await client.close();
process.exit(0);
