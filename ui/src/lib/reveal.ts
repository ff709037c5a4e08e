/**
 * Finds characters that are invisible, or that change the order of the text around them, in text
 * from servers and clients. They become parts of their own, so that a screen can show them.
 */

import { texts } from "../texts";

const t = texts.kit;

export type Part = { kind: "text"; text: string } | { kind: "hidden"; code: string; name: string };

export interface RevealOptions {
  /** Treats line feeds and tabs as visible. */
  multiline?: boolean;
}

/**
 * Controls, formats, separators, private use and lone surrogates by category; fillers, joiners,
 * selectors and tags by property; and the blank Braille pattern.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;
const EMOJI = /\p{Extended_Pictographic}$/u;
const EMOJI_SELECTOR = 0xfe0f;

export function reveal(text: string, options: RevealOptions = {}): Part[] {
  // Most texts have no hidden character, and one test of the whole text is fast.
  if (text && !HIDDEN.test(text)) return [{ kind: "text", text }];
  const parts: Part[] = [];
  let plain = "";
  for (const char of text) {
    if (isPlain(char, plain, options)) {
      plain += char;
      continue;
    }
    if (plain) parts.push({ kind: "text", text: plain });
    plain = "";
    parts.push(toHiddenPart(char));
  }
  if (plain) parts.push({ kind: "text", text: plain });
  return parts;
}

/** Returns the parts as one string, with hidden characters as `⟨U+202E⟩`. */
export function revealHidden(text: string, options: RevealOptions = {}): string {
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
  // One selector after an emoji only selects its coloured form.
  return char.codePointAt(0) === EMOJI_SELECTOR && EMOJI.test(before);
}

function toHiddenPart(char: string): Part {
  const point = char.codePointAt(0) ?? 0;
  return {
    kind: "hidden",
    code: `U+${point.toString(16).toUpperCase().padStart(4, "0")}`,
    name: nameCharacter(point),
  };
}

function nameCharacter(point: number): string {
  const name = t.characterNames[point];
  if (name) return name;
  if (point >= 0xe0020 && point <= 0xe007e)
    return t.characterKinds.tagLetter(String.fromCharCode(point - 0xe0000));
  if (point >= 0xe0000 && point <= 0xe007f) return t.characterKinds.tag;
  if ((point >= 0xfe00 && point <= 0xfe0f) || (point >= 0xe0100 && point <= 0xe01ef))
    return t.characterKinds.variationSelector;
  if (point >= 0xd800 && point <= 0xdfff) return t.characterKinds.surrogate;
  if (point < 0x20 || (point >= 0x80 && point < 0xa0)) return t.characterKinds.control;
  if ((point >= 0xe000 && point <= 0xf8ff) || point >= 0xf0000) return t.characterKinds.privateUse;
  if (point >= 0x2000 && point <= 0x205f) return t.characterKinds.space;
  return t.characterKinds.invisible;
}
