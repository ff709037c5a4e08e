/** A command line as words, and back: quotes and backslashes as in a POSIX shell, and nothing else of it. */

export type Words = { words: string[]; problem: "" } | { words: null; problem: string };

const SPACE = /\s/;
const SPECIAL = new Set(["|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1"]);

export function splitWords(line: string): Words {
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
  if (quote) return { words: null, problem: `A quote (${quote}) is opened and not closed.` };
  if (word !== null) words.push(word);
  return { words, problem: "" };
}

/** What the words hold that only a shell would understand; empty where there is nothing. */
export function shellOnly(words: string[]): string {
  const found = words.find((word) => SPECIAL.has(word) || /^~\/|^\$[A-Za-z_{]/.test(word));
  return found ? `“${found}” is passed on as it is: programs are started without a shell.` : "";
}

export function joinWords(words: string[]): string {
  return words.map(quoteWord).join(" ");
}

function quoteWord(word: string): string {
  if (word === "") return "''";
  if (!/[\s"'\\]/.test(word)) return word;
  if (!word.includes("'")) return `'${word}'`;
  return `"${word.replaceAll(/(["\\])/g, "\\$1")}"`;
}
