/** Texts about secrets and the secret store, in the settings. */

import type { SecretStoreKind } from "../../ipc/bindings";
import { plural } from "../plural";

export const secrets = {
  hint: "Values to which servers, hooks and traces refer. Drawbridge never shows a value.",
  loading: "Reading the secrets…",
  empty: "Nothing refers to a secret.",
  caption: "Secrets",
  columns: { name: "Name", usedBy: "Used by", state: "State", actions: "Actions" },
  present: "Stored",
  missing: "Missing",
  unknown: "Unknown",
  server: (id: string) => `server ${id}`,
  hook: (name: string) => `hook ${name}`,
  traces: "traces",
  set: "Set…",
  replace: "Replace…",
  setNamed: (name: string) => `Set the value of ${name}`,
  remove: "Remove…",
  removeNamed: (name: string) => `Remove ${name}`,
  removeTitle: (name: string) => `Remove the secret ${name}?`,
  removeHint: (users: string) =>
    `The value is deleted. The secret is used by ${users}, which cannot start or run without it.`,
  confirmRemove: "Remove secret",
  dialogTitle: (name: string) => `Value of ${name}`,
  value: "Value",
  valueHint:
    "Stored on the computer that runs Drawbridge. A server gets the new value at its next start.",
  save: "Save",
  store: {
    place: (kind: SecretStoreKind, file: string | null) =>
      kind === "keyring"
        ? "Secrets are stored in the keyring of the operating system."
        : `Secrets are stored in an encrypted file: ${file ?? ""}`,
    change: "Change…",
    unlock: "Unlock…",
    unlockTitle: "Unlock the secrets",
    confirmUnlock: "Unlock secrets",
    dialogTitle: "Where secrets are stored",
    hint: "All secrets move to the place that you choose. Nothing is removed until everything has been written.",
    options: {
      keyring: "The keyring of the operating system",
      keyFile: "An encrypted file, opened with a key file",
      passphrase: "An encrypted file, opened with a passphrase",
    },
    keyFile: "Key file",
    keyFileHint:
      "An absolute path on the computer that runs Drawbridge, outside the data folder. The file is created if it does not exist. Keep a copy: without it, the secrets are lost.",
    passphrase: "Passphrase",
    passphraseHint:
      "You type it again after each start of Drawbridge. If it is lost, so are the secrets.",
    repeat: "The same passphrase again",
    different: "The two passphrases differ.",
    move: "Move secrets",
    moved: (count: number) => `${plural(count, "secret")} moved.`,
    unread: "Not moved, because no keyring runs. Set these secrets again:",
    notRemoved: "Moved, but still in the keyring, because they could not be removed:",
    brokenFiles: "These spec files cannot be read, so their secrets stay in the keyring:",
    done: "Close",
  },
};
