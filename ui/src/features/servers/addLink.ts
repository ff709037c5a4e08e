/**
 * Reads a link that asks to add a server: `drawbridge://add?…`, which the app opens as the page
 * `#/servers?add=…`. The link only fills in the form. A person checks the form, and adds the server.
 * Also reads the path of a bundle that the app was asked to open.
 */

import { joinCommandLine } from "../../lib/commandLine";
import { reveal } from "../../lib/reveal";
import { texts } from "../../texts";
import { createForm, newRow, type ServerForm } from "./form";

const t = texts.servers.link;

/** The maximum lengths of the decoded link and of one of its values, in characters. */
const MAX_LINK = 8192;
const MAX_VALUE = 2000;
const MAX_ARGS = 100;
const MAX_VARIABLES = 50;
const PAGE = "#/servers?add=";
const BUNDLE_PAGE = "#/servers?bundle=";
const SINGLE_KEYS = ["name", "command", "url"];
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * The form that a link fills in, with the command line or the URL as `target`; or the reason why the
 * link cannot be used.
 */
export type AddLink =
  { form: ServerForm; target: string; problem: "" } | { form: null; target: ""; problem: string };

/**
 * Returns the path of the MCP bundle that the app was asked to open, from the hash
 * `#/servers?bundle=…`; null if the hash names no bundle.
 */
export function readBundlePath(hash: string): string | null {
  if (!hash.startsWith(BUNDLE_PAGE)) return null;
  try {
    return decodeURIComponent(hash.slice(BUNDLE_PAGE.length)) || null;
  } catch {
    return null;
  }
}

/** Returns the link in the hash of a page, or null if the hash contains no link. */
export function readAddLink(hash: string): AddLink | null {
  if (!hash.startsWith(PAGE)) return null;
  // Percent-encoding makes a character three times as long.
  if (hash.length > MAX_LINK * 3) return refuse(t.tooLong);
  try {
    return readQuery(decodeURIComponent(hash.slice(PAGE.length)));
  } catch {
    return refuse(t.malformed);
  }
}

function readQuery(query: string): AddLink {
  if (query.length > MAX_LINK) return refuse(t.tooLong);
  const params = new URLSearchParams(query);
  for (const [key, value] of params) {
    if (![...SINGLE_KEYS, "arg", "env"].includes(key)) return refuse(t.unknownPart(key));
    if (SINGLE_KEYS.includes(key) && params.getAll(key).length > 1) return refuse(t.twice(key));
    if (value.length > MAX_VALUE) return refuse(t.tooLong);
    if (reveal(value, { multiline: false }).some((part) => part.kind !== "text"))
      return refuse(t.hidden(key));
  }
  const [name = "", command = "", url = ""] = SINGLE_KEYS.map((key) => params.get(key)?.trim());
  const [args, variables] = [params.getAll("arg"), params.getAll("env")];
  if ((command === "") === (url === "")) return refuse(t.commandOrUrl);
  if (url !== "" && !isWebAddress(url)) return refuse(t.notWebAddress);
  if (url !== "" && (args.length > 0 || variables.length > 0)) return refuse(t.commandOrUrl);
  if (args.length > MAX_ARGS || variables.length > MAX_VARIABLES) return refuse(t.tooLong);
  if (!variables.every((variable) => VARIABLE.test(variable))) return refuse(t.badVariable);
  const commandLine = command === "" ? "" : joinCommandLine([command, ...args]);
  const form: ServerForm = {
    ...createForm(),
    name,
    kind: url === "" ? "local" : "remote",
    command: commandLine,
    url,
    env: [...new Set(variables)].map((key) => newRow({ key, secret: true })),
  };
  return { form, target: url || commandLine, problem: "" };
}

function isWebAddress(url: string): boolean {
  return /^https?:\/\/[^/\s]+/.test(url) && URL.canParse(url);
}

function refuse(problem: string): AddLink {
  return { form: null, target: "", problem };
}
