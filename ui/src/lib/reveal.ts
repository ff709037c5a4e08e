/**
 * Text written by a server or a client may hold characters that show nothing, or that turn
 * the order of what is shown. Here they become parts of their own, so that a screen can draw them.
 */

export type Part = { kind: "text"; text: string } | { kind: "hidden"; code: string; name: string };

export interface RevealOptions {
  /** Line feeds and tabs are shown as such, by a place that keeps them. Otherwise they are hidden characters. */
  multiline?: boolean;
}

/**
 * Controls, formats, separators, private use and lone surrogates by category; what may be
 * ignored when drawing (fillers, joiners, selectors, tags) by property; and the blank of Braille.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;
const EMOJI = /\p{Extended_Pictographic}$/u;
const EMOJI_SELECTOR = 0xfe0f;

export function reveal(text: string, options: RevealOptions = {}): Part[] {
  const parts: Part[] = [];
  let plain = "";
  for (const char of text) {
    if (isPlain(char, plain, options)) {
      plain += char;
      continue;
    }
    if (plain) parts.push({ kind: "text", text: plain });
    plain = "";
    parts.push(hidden(char));
  }
  if (plain) parts.push({ kind: "text", text: plain });
  return parts;
}

/** The same as one string, for places that only take text: `⟨U+202E⟩`. */
export function revealText(text: string, options: RevealOptions = {}): string {
  return reveal(text, options)
    .map((part) => (part.kind === "text" ? part.text : `⟨${part.code}⟩`))
    .join("");
}

export function hasHidden(text: string, options: RevealOptions = { multiline: true }): boolean {
  return reveal(text, options).some((part) => part.kind === "hidden");
}

function isPlain(char: string, before: string, options: RevealOptions): boolean {
  if (!HIDDEN.test(char)) return true;
  if (options.multiline && (char === "\n" || char === "\t")) return true;
  // One selector right behind an emoji only asks for its coloured form.
  return char.codePointAt(0) === EMOJI_SELECTOR && EMOJI.test(before);
}

function hidden(char: string): Part {
  const point = char.codePointAt(0) ?? 0;
  return {
    kind: "hidden",
    code: `U+${point.toString(16).toUpperCase().padStart(4, "0")}`,
    name: nameOf(point),
  };
}

const NAMES: Record<number, string> = {
  0x00: "null",
  0x07: "bell",
  0x08: "backspace",
  0x09: "tab",
  0x0a: "line feed",
  0x0d: "carriage return",
  0x1b: "escape",
  0x7f: "delete",
  0xa0: "no-break space",
  0xad: "soft hyphen",
  0x34f: "combining grapheme joiner",
  0x61c: "Arabic letter mark",
  0x115f: "Hangul filler",
  0x1160: "Hangul filler",
  0x3164: "Hangul filler",
  0xffa0: "Hangul filler",
  0x200b: "zero-width space",
  0x200c: "zero-width non-joiner",
  0x200d: "zero-width joiner",
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x2028: "line separator",
  0x2029: "paragraph separator",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "end of direction",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override",
  0x202f: "narrow no-break space",
  0x2060: "word joiner",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "end of isolate",
  0x2800: "blank Braille pattern",
  0x3000: "ideographic space",
  0xfeff: "byte order mark",
};

function nameOf(point: number): string {
  const known = NAMES[point];
  if (known) return known;
  if (point >= 0xe0020 && point <= 0xe007e) return `tag "${String.fromCharCode(point - 0xe0000)}"`;
  if (point >= 0xe0000 && point <= 0xe007f) return "tag";
  if ((point >= 0xfe00 && point <= 0xfe0f) || (point >= 0xe0100 && point <= 0xe01ef))
    return "variation selector";
  if (point >= 0xd800 && point <= 0xdfff) return "half of a character";
  if (point < 0x20 || (point >= 0x80 && point < 0xa0)) return "control character";
  if ((point >= 0xe000 && point <= 0xf8ff) || point >= 0xf0000) return "private-use character";
  if (point >= 0x2000 && point <= 0x205f) return "unusual space";
  return "invisible character";
}
