const REFERENCE = /\$\{keyring:([^}]+)\}/;

/**
 * Returns the name of the first secret to which the value refers as `${keyring:NAME}`, or null if
 * there is none.
 */
export function parseSecretReference(value: string): string | null {
  return REFERENCE.exec(value)?.[1] ?? null;
}
