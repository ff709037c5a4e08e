/** Splits the result of a tool, a prompt or a resource into blocks that are shown by their type. */

import { isObject } from "./schema";

/** `label` says where a block comes from, such as a role or a URI; empty if that is evident. */
export type Block =
  | { kind: "text"; text: string; label: string }
  | { kind: "json"; text: string; label: string }
  | { kind: "image"; source: string; mimeType: string; label: string }
  | { kind: "audio"; source: string; mimeType: string; label: string }
  | { kind: "link"; uri: string; name: string; description: string; label: string }
  | { kind: "binary"; mimeType: string; bytes: number; label: string };

export interface ShownResult {
  isError: boolean;
  blocks: Block[];
}

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const AUDIO = ["audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3", "audio/ogg", "audio/webm"];
const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/;

/** Returns the blocks of a result of `tools/call`, `prompts/get` or `resources/read`. */
export function readResult(result: unknown): ShownResult {
  if (!isObject(result)) return { isError: false, blocks: [json(result, "")] };
  const blocks = [
    ...list(result["content"]).map((block) => readBlock(block, "")),
    ...list(result["messages"]).map((message) =>
      isObject(message)
        ? readBlock(message["content"], string(message["role"]))
        : json(message, ""),
    ),
    ...list(result["contents"]).map((contents) => readContents(contents, "")),
  ];
  const { structuredContent } = result;
  if (structuredContent !== undefined) blocks.push(json(structuredContent, "structuredContent"));
  if (!["content", "messages", "contents", "structuredContent"].some((key) => key in result))
    blocks.push(json(result, ""));
  return { isError: result["isError"] === true, blocks };
}

function readBlock(block: unknown, label: string): Block {
  if (!isObject(block)) return json(block, label);
  const media = string(block["data"]);
  const mimeType = string(block["mimeType"]);
  switch (block["type"]) {
    case "text":
      return readText(string(block["text"]), label);
    case "image":
    case "audio":
      return readMedia(media, mimeType, label);
    case "resource_link":
      return {
        kind: "link",
        uri: string(block["uri"]),
        name: string(block["title"]) || string(block["name"]),
        description: string(block["description"]),
        label,
      };
    case "resource":
      return readContents(block["resource"], label);
    default:
      return json(block, label);
  }
}

function readContents(contents: unknown, label: string): Block {
  if (!isObject(contents)) return json(contents, label);
  const name = [label, string(contents["uri"])].filter(Boolean).join(" · ");
  if (typeof contents["blob"] === "string")
    return readMedia(contents["blob"], string(contents["mimeType"]), name);
  return readText(string(contents["text"]), name);
}

function readText(text: string, label: string): Block {
  const start = text.trimStart()[0];
  if (start === "{" || start === "[") {
    try {
      JSON.parse(text);
      return { kind: "json", text, label };
    } catch {
      // The text only begins like JSON.
    }
  }
  return { kind: "text", text, label };
}

/** Returns an image or audio, or a description of data that is not Base64 or not of a safe type. */
function readMedia(data: string, mimeType: string, label: string): Block {
  if (BASE64.test(data)) {
    const source = `data:${mimeType};base64,${data}`;
    if (IMAGES.includes(mimeType)) return { kind: "image", source, mimeType, label };
    if (AUDIO.includes(mimeType)) return { kind: "audio", source, mimeType, label };
  }
  return { kind: "binary", mimeType, bytes: Math.floor((data.length * 3) / 4), label };
}

const json = (value: unknown, label: string): Block => ({
  kind: "json",
  text: JSON.stringify(value, null, 2) ?? "null",
  label,
});
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const string = (value: unknown) => (typeof value === "string" ? value : "");
