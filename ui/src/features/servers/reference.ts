const REFERENCE = /\$\{keyring:([^}]+)\}/;

/**
 * Returns the name of the secret in a reference such as `${keyring:NAME}`, or null if the value is
 * no reference.
 */
export function readSecretName(value: string): string | null {
  return REFERENCE.exec(value)?.[1] ?? null;
}
