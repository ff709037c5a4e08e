/** How a spec refers to a secret: `${keyring:NAME}`. */

const REFERENCE = /\$\{keyring:([^}]+)\}/;

/** The name in the keyring that a kept value refers to. */
export function referenceOf(value: string): string | null {
  return REFERENCE.exec(value)?.[1] ?? null;
}
