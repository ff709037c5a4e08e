const REFERENCE = /\$\{keyring:([^}]+)\}/;

/**
 * Returns the name of the first secret that the value refers to as `${keyring:NAME}`, or null if
 * there is none.
 */
export function parseSecretReference(value: string): string | null {
  return REFERENCE.exec(value)?.[1] ?? null;
}
