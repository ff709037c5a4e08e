/** Splits and joins command lines. Supports quotes and backslashes, but no other shell syntax. */

import { texts } from "../texts";

const t = texts.kit.commandLine;

export type CommandLine = { words: string[]; problem: "" } | { words: null; problem: string };

const SPACE = /\s/;
const SHELL_OPERATORS = new Set(["|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1"]);

export function splitCommandLine(line: string): CommandLine {
  const words: string[] = [];
  let word: string | null = null;
  let quote: '"' | "'" | null = null;
  for (let i = 0; i < line.length; i += 1) {
    const char = line.charAt(i);
    const next = line.charAt(i + 1);
    if (quote) {
      if (char === quote) quote = null;
      else if (quote === '"' && char === "\\" && (next === '"' || next === "\\"))
        word = (word ?? "") + line.charAt((i += 1));
      else word = (word ?? "") + char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= "";
    } else if (char === "\\" && next !== "" && (SPACE.test(next) || `"'\\`.includes(next))) {
      // A backslash before anything else is kept, so that C:\Tools\x.exe needs no quotes.
      word = (word ?? "") + line.charAt((i += 1));
    } else if (SPACE.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (quote) return { words: null, problem: t.unclosedQuote(quote) };
  if (word !== null) words.push(word);
  return { words, problem: "" };
}

/** Returns a warning if a word has a meaning only in a shell; empty otherwise. */
export function findShellSyntax(words: string[]): string {
  const shellWord = words.find(
    (word) => SHELL_OPERATORS.has(word) || /^~\/|^\$[A-Za-z_{]/.test(word),
  );
  return shellWord ? t.shellSyntax(shellWord) : "";
}

export function joinCommandLine(words: string[]): string {
  return words.map(quoteWord).join(" ");
}

function quoteWord(word: string): string {
  if (word === "") return "''";
  if (!/[\s"'\\]/.test(word)) return word;
  if (!word.includes("'")) return `'${word}'`;
  return `"${word.replaceAll(/(["\\])/g, "\\$1")}"`;
}
