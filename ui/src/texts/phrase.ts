/** A sentence with values. `kit/Phrase.svelte` renders it with the values stressed. */

export type Phrase = { text: string; isValue: boolean }[];

/** Tags a template: phrase`${client} calls ${tool}`. If a value is a phrase, its parts are kept. */
export function phrase(strings: TemplateStringsArray, ...values: (string | Phrase)[]): Phrase {
  return strings.flatMap((text, at) => {
    const value = values[at] ?? [];
    return [
      ...(text ? [{ text, isValue: false }] : []),
      ...(typeof value === "string" ? [{ text: value, isValue: true }] : value),
    ];
  });
}

export function phraseText(parts: Phrase): string {
  return parts.map((part) => part.text).join("");
}
