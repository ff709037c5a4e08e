// Every feature of the protocol, done once with a fixture server behind Drawbridge by whichever client: each prints a
// line, {"feature", "ok", "detail"}. What a client does in its own SDK's words, it brings along as `peer`.
import { createInterface } from "node:readline";

/** How long a feature may take on a loaded machine; nothing here waits for it to pass. */
const BOUND = 15_000;
const LATE = `it was not done within ${BOUND / 1000} s`;
const NOT_TRIED = "it was not tried, since something before it was not done in time";

export const SAMPLED = { role: "assistant", model: "a-model", content: { type: "text", text: "sampled by the client" } };
export const ELICITED = { action: "accept", content: { username: "ada", email: "ada@example.com" } };
export const ROOTS = { roots: [{ uri: "file:///desk", name: "desk" }] };

/** Things that come one by one, and can be waited for. */
class Heard {
  #heard = [];
  #waiting = [];

  add(one) {
    this.#heard.push(one);
    this.#waiting = this.#waiting.filter((look) => !look());
  }

  /** The first that `is` true of, once it is there. */
  until(is) {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.#heard.find(is);
        if (found !== undefined) resolve(found);
        return found !== undefined;
      };
      if (!look()) this.#waiting.push(look);
    });
  }
}

/** Does everything with each server that a line of stdin names. */
export async function run(peer) {
  for await (const server of createInterface(process.stdin)) {
    Object.assign(peer, { updated: new Heard(), logged: new Heard(), onListChanged: () => {} });
    let isLate = false;
    for (const [feature, doing] of Object.entries(features(server, peer))) {
      const why = isLate ? NOT_TRIED : await bounded(doing).then(() => null, (error) => String(error?.message ?? error));
      isLate ||= why === LATE;
      console.log(JSON.stringify({ feature, ok: why === null, detail: why }));
    }
  }
}

/** The features, for a server whose tools are called `server__…`, and whose resources are at `server://…`. */
function features(server, peer) {
  const name = (own) => `${server}__${own}`;
  const uri = (place) => `${server}://${place}`;
  const tool = (own, args, options) => peer.tool({ name: name(own), arguments: args ?? {} }, options);
  const text = async (own, args) => (await tool(own, args)).content.map((block) => block.text).join();

  return {
    async list() {
      const { tools } = await peer.client.listTools();
      const { prompts } = await peer.client.listPrompts();
      const { resources } = await peer.client.listResources();
      const { resourceTemplates } = await peer.client.listResourceTemplates();
      among(tools.map((one) => one.name), name("test_simple_text"));
      among(prompts.map((one) => one.name), name("test_simple_prompt"));
      among(resources.map((one) => one.uri), uri("watched-resource"));
      among(resourceTemplates.map((one) => one.uriTemplate), uri("template/{id}/data"));
    },
    async call() {
      same(await text("test_simple_text"), "This is a simple text response for testing.");
    },
    async progress() {
      const told = [];
      await tool("test_tool_with_progress", {}, { onprogress: (one) => told.push([one.progress, one.total]) });
      // The SDKs may miss the last one where the answer comes with it.
      same(told.slice(0, 2), [[0, 100], [50, 100]]);
    },
    async cancel() {
      const cancelling = new AbortController();
      const options = { signal: cancelling.signal, onprogress: () => cancelling.abort("enough") };
      const ended = await tool("test_cancellable", {}, options).then((result) => JSON.stringify(result), () => "cancelled");
      same(ended, "cancelled");
      same(await text("test_was_cancelled"), "It was cancelled.");
    },
    async sampling() {
      same(await text("test_sampling", { prompt: "Say something" }), 'LLM response: "sampled by the client"');
    },
    async elicitation() {
      const said = await text("test_elicitation", { message: "Who are you?" });
      const answer = JSON.parse(said.replace(/^User response: /, () => ""));
      same([answer.action, answer.content?.username], ["accept", "ada"]);
    },
    async roots() {
      const said = await text("test_input_required_result_list_roots");
      const roots = JSON.parse(said.replace(/^The roots are /, () => ""));
      same(roots.map((one) => [one.uri, one.name]), [["file:///desk", "desk"]]);
    },
    async read() {
      const [read] = (await peer.client.readResource({ uri: uri("static-text") })).contents;
      same([read.uri, read.text], [uri("static-text"), "This is the content of the static text resource."]);
      const [picture] = (await peer.client.readResource({ uri: uri("static-binary") })).contents;
      same([picture.mimeType, isPng(picture.blob)], ["image/png", true]);
    },
    async subscribe() {
      const end = await peer.subscribe(uri("watched-resource"));
      await tool("test_resource_update");
      await peer.updated.until((one) => one === uri("watched-resource"));
      await end();
    },
    async prompt() {
      const prompt = await peer.client.getPrompt({ name: name("test_prompt_with_arguments"), arguments: { arg1: "x", arg2: "y" } });
      same(prompt.messages.map((one) => one.content.text), ["Prompt with arguments: arg1='x', arg2='y'"]);
    },
    async completion() {
      const ref = { type: "ref/prompt", name: name("test_prompt_with_arguments") };
      const { completion } = await peer.client.complete({ ref, argument: { name: "arg1", value: "par" } });
      same(completion.values, ["paris", "park", "party"]);
    },
    async list_changed() {
      const isThere = async () => (await peer.client.listTools()).tools.some((one) => one.name === name("test_added_tool"));
      const before = await isThere();
      const end = await peer.listen();
      let after = before;
      const changed = new Promise((resolve) => {
        peer.onListChanged = async () => {
          after = await isThere();
          if (after !== before) resolve();
        };
      });
      await tool("test_trigger_tool_change");
      await changed;
      peer.onListChanged = () => {};
      await end();
    },
    async logging() {
      const meta = await peer.wantLogs();
      await peer.tool({ name: name("test_tool_with_logging"), arguments: {}, ...meta });
      for (const step of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        await peer.logged.until((one) => one.data === step && one.level === "info");
      }
    },
    async structured() {
      const result = await tool("test_structured_content");
      same(result.structuredContent, { city: "Oslo", degrees: 21.5 });
      same(JSON.parse(result.content[0].text), { city: "Oslo", degrees: 21.5 });
    },
    async image() {
      const [block] = (await tool("test_image_content")).content;
      same([block.type, block.mimeType, isPng(block.data)], ["image", "image/png", true]);
    },
    async audio() {
      const [block] = (await tool("test_audio_content")).content;
      same([block.type, block.mimeType, Buffer.from(block.data, "base64").toString("latin1", 0, 4)], ["audio", "audio/wav", "RIFF"]);
    },
  };
}

async function bounded(doing) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(LATE)), BOUND);
  });
  try {
    await Promise.race([doing(), late]);
  } finally {
    clearTimeout(timer);
  }
}

function same(got, expected) {
  const [one, other] = [JSON.stringify(got), JSON.stringify(expected)];
  if (one !== other) throw new Error(`expected ${other}, got ${one}`);
}

function among(all, one) {
  if (!all.includes(one)) throw new Error(`${one} is not among ${all.join(", ")}`);
}

function isPng(base64) {
  return Buffer.from(base64 ?? "", "base64").toString("latin1", 1, 4) === "PNG";
}
