// Uses each feature of the matrix once with each fixture server behind Drawbridge that a line of
// stdin names, and prints a line for each feature: {"feature", "ok", "detail"}. `peer` wraps the
// operations that differ between the SDKs.
import { createInterface } from "node:readline";

/** The longest time for one feature, in milliseconds. It is long enough for a loaded machine. */
const TIMEOUT = 15_000;
const TIMED_OUT = `timed out after ${TIMEOUT / 1000} s`;
const SKIPPED = "skipped, because an earlier feature timed out";

export const SAMPLED = { role: "assistant", model: "a-model", content: { type: "text", text: "sampled by the client" } };
export const ELICITED = { action: "accept", content: { username: "ada", email: "ada@example.com" } };
export const ROOTS = { roots: [{ uri: "file:///desk", name: "desk" }] };

/** A log of received notifications. */
class NotificationLog {
  #entries = [];
  #waiters = [];

  add(entry) {
    this.#entries.push(entry);
    this.#waiters = this.#waiters.filter((tryResolve) => !tryResolve());
  }

  /** Resolves to the first entry that matches, which may have been added before. */
  waitFor(matches) {
    return new Promise((resolve) => {
      const tryResolve = () => {
        const entry = this.#entries.find(matches);
        if (entry !== undefined) resolve(entry);
        return entry !== undefined;
      };
      if (!tryResolve()) this.#waiters.push(tryResolve);
    });
  }
}

/** Uses every feature with each server that a line of stdin names. */
export async function run(peer) {
  for await (const server of createInterface(process.stdin)) {
    Object.assign(peer, { updated: new NotificationLog(), logged: new NotificationLog(), onListChanged: () => {} });
    let hasTimedOut = false;
    for (const [feature, use] of Object.entries(features(server, peer))) {
      const problem = hasTimedOut ? SKIPPED : await withTimeout(use).then(() => null, (error) => String(error?.message ?? error));
      hasTimedOut ||= problem === TIMED_OUT;
      console.log(JSON.stringify({ feature, ok: problem === null, detail: problem }));
    }
  }
}

/** Returns a function for each feature. */
function features(server, peer) {
  const name = (original) => `${server}__${original}`;
  const uri = (path) => `${server}://${path}`;
  const callTool = (tool, args, options) => peer.callTool({ name: name(tool), arguments: args ?? {} }, options);
  const callForText = async (tool, args) => (await callTool(tool, args)).content.map((block) => block.text).join();

  return {
    async list() {
      const { tools } = await peer.client.listTools();
      const { prompts } = await peer.client.listPrompts();
      const { resources } = await peer.client.listResources();
      const { resourceTemplates } = await peer.client.listResourceTemplates();
      assertIncludes(tools.map((tool) => tool.name), name("test_simple_text"));
      assertIncludes(prompts.map((prompt) => prompt.name), name("test_simple_prompt"));
      assertIncludes(resources.map((resource) => resource.uri), uri("watched-resource"));
      assertIncludes(resourceTemplates.map((template) => template.uriTemplate), uri("template/{id}/data"));
    },
    async call() {
      assertEqual(await callForText("test_simple_text"), "This is a simple text response for testing.");
    },
    async progress() {
      const received = [];
      await callTool("test_tool_with_progress", {}, { onprogress: ({ progress, total }) => received.push([progress, total]) });
      // The SDKs may miss the last notification if it arrives together with the result.
      assertEqual(received.slice(0, 2), [[0, 100], [50, 100]]);
    },
    async cancel() {
      const cancelling = new AbortController();
      const options = { signal: cancelling.signal, onprogress: () => cancelling.abort("cancelled by the test") };
      const outcome = await callTool("test_cancellable", {}, options).then((result) => JSON.stringify(result), () => "cancelled");
      assertEqual(outcome, "cancelled");
      assertEqual(await callForText("test_was_cancelled"), "It was cancelled.");
    },
    async sampling() {
      assertEqual(await callForText("test_sampling", { prompt: "Say something" }), 'LLM response: "sampled by the client"');
    },
    async elicitation() {
      const text = await callForText("test_elicitation", { message: "Who are you?" });
      const answer = JSON.parse(text.replace(/^User response: /, () => ""));
      assertEqual([answer.action, answer.content?.username], ["accept", "ada"]);
    },
    async roots() {
      const text = await callForText("test_input_required_result_list_roots");
      const roots = JSON.parse(text.replace(/^The roots are /, () => ""));
      assertEqual(roots.map((root) => [root.uri, root.name]), [["file:///desk", "desk"]]);
    },
    async read() {
      const [read] = (await peer.client.readResource({ uri: uri("static-text") })).contents;
      assertEqual([read.uri, read.text], [uri("static-text"), "This is the content of the static text resource."]);
      const [picture] = (await peer.client.readResource({ uri: uri("static-binary") })).contents;
      assertEqual([picture.mimeType, isPng(picture.blob)], ["image/png", true]);
    },
    async subscribe() {
      const unsubscribe = await peer.subscribe(uri("watched-resource"));
      await callTool("test_resource_update");
      await peer.updated.waitFor((updated) => updated === uri("watched-resource"));
      await unsubscribe();
    },
    async prompt() {
      const prompt = await peer.client.getPrompt({ name: name("test_prompt_with_arguments"), arguments: { arg1: "x", arg2: "y" } });
      assertEqual(prompt.messages.map((message) => message.content.text), ["Prompt with arguments: arg1='x', arg2='y'"]);
    },
    async completion() {
      const ref = { type: "ref/prompt", name: name("test_prompt_with_arguments") };
      const { completion } = await peer.client.complete({ ref, argument: { name: "arg1", value: "par" } });
      assertEqual(completion.values, ["paris", "park", "party"]);
    },
    async list_changed() {
      const isListed = async () => (await peer.client.listTools()).tools.some((tool) => tool.name === name("test_added_tool"));
      const before = await isListed();
      const stopListening = await peer.listen();
      let after = before;
      const changed = new Promise((resolve) => {
        peer.onListChanged = async () => {
          after = await isListed();
          if (after !== before) resolve();
        };
      });
      await callTool("test_trigger_tool_change");
      await changed;
      peer.onListChanged = () => {};
      await stopListening();
    },
    async logging() {
      const meta = await peer.requestLogs();
      await peer.callTool({ name: name("test_tool_with_logging"), arguments: {}, ...meta });
      for (const step of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        await peer.logged.waitFor(({ data, level }) => data === step && level === "info");
      }
    },
    async structured() {
      const result = await callTool("test_structured_content");
      assertEqual(result.structuredContent, { city: "Oslo", degrees: 21.5 });
      assertEqual(JSON.parse(result.content[0].text), { city: "Oslo", degrees: 21.5 });
    },
    async image() {
      const [block] = (await callTool("test_image_content")).content;
      assertEqual([block.type, block.mimeType, isPng(block.data)], ["image", "image/png", true]);
    },
    async audio() {
      const [block] = (await callTool("test_audio_content")).content;
      assertEqual([block.type, block.mimeType, Buffer.from(block.data, "base64").toString("latin1", 0, 4)], ["audio", "audio/wav", "RIFF"]);
    },
  };
}

async function withTimeout(use) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(TIMED_OUT)), TIMEOUT);
  });
  try {
    await Promise.race([use(), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function assertEqual(actual, expected) {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (left !== right) throw new Error(`expected ${right}, got ${left}`);
}

function assertIncludes(list, entry) {
  if (!list.includes(entry)) throw new Error(`${entry} is not among ${list.join(", ")}`);
}

function isPng(base64) {
  return Buffer.from(base64 ?? "", "base64").toString("latin1", 1, 4) === "PNG";
}
