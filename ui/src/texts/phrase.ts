/** A sentence with values. `kit/Phrase.svelte` renders it with the values stressed. */

export type Phrase = { text: string; isValue: boolean }[];

/** Tags a template: phrase`${client} wants to call ${tool}`. */
export function phrase(strings: TemplateStringsArray, ...values: string[]): Phrase {
  return strings.flatMap((text, at) => {
    const value = values[at];
    return [
      ...(text ? [{ text, isValue: false }] : []),
      ...(value === undefined ? [] : [{ text: value, isValue: true }]),
    ];
  });
}

export function phraseText(parts: Phrase): string {
  return parts.map((part) => part.text).join("");
}
