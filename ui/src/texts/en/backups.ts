/** Texts about backups of the data folder, and about replacing its contents. */

export const backups = {
  prepared:
    "A restore or a reset is prepared. Quit Drawbridge and start it again to make it. What happens until then is not in the new data.",
  cancel: "Cancel it",
  create: {
    title: "Export everything",
    hint: "Saves calls, rules, clients, settings, the audit log and the servers in a ZIP archive in the data folder. Secrets are not included: they stay in the secret store.",
    action: "Create backup",
    done: "Saved in",
    copy: "Copy the path of the backup",
  },
  restore: {
    title: "Import everything",
    hint: "Replaces all of it by the contents of a backup, at the next start of Drawbridge. The replaced contents stay in the data folder, in a folder “before-restore-…”.",
    file: "Path of the backup",
    noFile: "Enter the path of a backup first.",
    action: "Restore…",
    confirmTitle: "Restore this backup?",
    confirm: "Restore at the next start",
    made: (time: string, version: string) =>
      `The backup was made ${time} by Drawbridge ${version}.`,
    consequences:
      "Clients that were revoked after the backup have access again, and rules that were deleted apply again.",
  },
  reset: {
    title: "Reset everything",
    hint: "Drawbridge begins anew at its next start, without servers, clients, rules, records and settings. What was there stays in a folder “before-restore-…” until you delete it. Secrets stay in the secret store, and the entries in the files of clients stay too: disconnect the clients first.",
    action: "Reset…",
    confirmTitle: "Reset Drawbridge?",
    confirm: "Reset at the next start",
    consequences: "No client can use your servers until you set up Drawbridge again.",
    word: "reset",
    typeWord: "Type “reset” to confirm.",
  },
};
