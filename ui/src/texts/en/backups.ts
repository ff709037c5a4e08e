/** Texts about backups of the data folder, and about replacing its contents. */

export const backups = {
  prepared:
    "A restore or a reset is prepared. Quit Drawbridge and start it again to apply it. Changes until then are not in the new data.",
  cancel: "Cancel restore or reset",
  create: {
    title: "Export everything",
    hint: "Saves calls, rules, clients, profiles, hooks, settings, the memory, the audit log, the servers and the copies of clients' files in a ZIP archive in the data folder. Log files are not included, nor are secrets, which stay in the secret store.",
    action: "Create backup",
    done: "Saved in",
    copy: "Copy the path of the backup",
  },
  restore: {
    title: "Import everything",
    hint: "Replaces the same data with the contents of a backup, at the next start of Drawbridge. The replaced contents stay in the data folder, in a folder “replaced-…”.",
    file: "Path of the backup",
    noFile: "Enter the path of a backup first.",
    action: "Restore…",
    confirmTitle: "Restore this backup?",
    confirm: "Restore at the next start",
    made: (time: string, version: string, files: number) =>
      `The backup was made ${time} by Drawbridge ${version}. It has ${files} files: the database, the audit log, the servers and the copies of clients' files.`,
    consequences:
      "Clients that were revoked after the backup have access again, and rules that were deleted apply again.",
  },
  reset: {
    title: "Reset",
    hint: "Removes the parts that you choose, or everything. Secrets are deleted at once and for good. The next start of Drawbridge moves the other chosen parts to a folder “replaced-…” in the data folder, where they stay until you delete them. The entries in the files of clients stay: disconnect the clients first.",
    action: "Reset…",
    confirmTitle: "Reset Drawbridge?",
    confirm: "Reset at the next start",
    choose: "Delete",
    everything: "Everything",
    parts: {
      records: "Calls and the audit log",
      settings: "Settings and hooks",
      rules: "Rules and the defaults of the policy",
      clients: "Clients and profiles",
      servers: "Servers, and which of their definitions you accepted",
      memory: "The memory of clients",
      secrets: "Secrets and sign-ins to servers, at once and for good",
    },
    chooseFirst: "First choose what to reset.",
    consequences:
      "Secrets are deleted at once and cannot be restored. The next start moves the other parts to a folder “replaced-…”. Until then, you can cancel the reset.",
    word: "reset",
    typeWord: "Type “reset” to confirm.",
  },
};
