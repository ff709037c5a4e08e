// A client on the official TypeScript SDK. Uses each feature of the public "everything" server once
// and prints the results as JSON. The argument is {"command": [...]} for a direct connection, or
// {"url": "...", "token": "...", "prefix": "everything__"} for a connection through Drawbridge.
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

const requests = [];
client.setRequestHandler(CreateMessageRequestSchema, (request) => {
  requests.push(request.params.messages.at(-1)?.content);
  return { role: "assistant", model: "a-model", content: { type: "text", text: "sampled by the client" } };
});
client.setRequestHandler(ElicitRequestSchema, (request) => {
  requests.push(Object.keys(request.params.requestedSchema?.properties ?? {}));
  return { action: "decline" };
});
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///desk", name: "desk" }] }));

const updated = new Promise((resolve) => {
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri));
});
client.setNotificationHandler(LoggingMessageNotificationSchema, () => {});

await client.connect(transport);
const callTool = (name, args = {}, options = undefined) => client.callTool({ name: `${prefix}${name}`, arguments: args }, undefined, options);
const withoutPrefix = (name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name);
const errorOf = async (operation) => {
  try {
    await operation;
    return "no error";
  } catch (error) {
    return error.code ?? String(error);
  }
};

const results = {};
const { tools } = await client.listTools();
results.tools = tools.map((definition) => ({ ...definition, name: withoutPrefix(definition.name) })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
results.echo = await callTool("echo", { message: "hi" });
results.structured = await callTool("get-structured-content", { location: "New York" });
results.image = await callTool("get-tiny-image");
results.annotated = await callTool("get-annotated-message", { messageType: "success", includeImage: true });
results.links = await callTool("get-resource-links", { count: 2 });
results.invalid_arguments = await errorOf(callTool("get-sum", { a: "x" }).then((result) => { if (result.isError) throw Object.assign(new Error(), { code: "isError" }); }));

const { prompts } = await client.listPrompts();
results.prompts = prompts.map((definition) => ({ ...definition, name: withoutPrefix(definition.name) }));
results.prompt = await client.getPrompt({ name: `${prefix}args-prompt`, arguments: { city: "Paris", state: "x" } });
results.unknown_prompt = await errorOf(client.getPrompt({ name: `${prefix}none` }));
results.completion = await client.complete({ ref: { type: "ref/prompt", name: `${prefix}completable-prompt` }, argument: { name: "department", value: "E" } });

results.resources = await client.listResources();
results.templates = await client.listResourceTemplates();
results.resource = await client.readResource({ uri: results.resources.resources[0].uri });
results.unknown_resource = await errorOf(client.readResource({ uri: "demo://none/at/all" }));

const progress = [];
results.long_running = await callTool("trigger-long-running-operation", { duration: 1, steps: 4 }, { onprogress: (notification) => progress.push(notification) });
results.progress = progress;
results.sampled = await callTool("trigger-sampling-request", { prompt: "say something", maxTokens: 10 });
results.elicited = await callTool("trigger-elicitation-request");
results.roots = await callTool("get-roots-list");
results.requests = requests;

const cancelling = new AbortController();
const cancelled = errorOf(callTool("trigger-long-running-operation", { duration: 30, steps: 60 }, { signal: cancelling.signal, onprogress: () => cancelling.abort("cancelled by the test") }));
results.cancelled = (await cancelled) !== "no error";

await client.setLoggingLevel("debug");
const uri = results.resources.resources[0].uri;
await client.subscribeResource({ uri });
await callTool("toggle-subscriber-updates");
results.updated = await Promise.race([updated, new Promise((resolve) => { setTimeout(() => resolve("no notification"), 15_000); })]);
await callTool("toggle-subscriber-updates");
await client.unsubscribeResource({ uri });

console.log(JSON.stringify(results));
await client.close();
process.exit(0);
