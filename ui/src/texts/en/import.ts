/** Texts about the import of servers from the files of clients. */

import { plural } from "../plural";

export const clientImport = {
  open: "Import from clients…",
  title: "Import from clients",
  stepOf: (step: number) => `Step ${step} of 3`,
  tryAgain: "Try again",

  choose: {
    title: "Choose servers",
    lead: "Drawbridge looks for servers in the files of your clients. It changes nothing until you have seen the changes and agreed.",
    finding: "Reading the files of your clients…",
    found: (servers: number, importable: number) =>
      `${plural(servers, "server")} found. ${importable} can be imported.`,
    saved: (memory: string) =>
      `One shared process of each server would save ${memory} of memory now.`,
    listLabel: "Servers that can be imported",
    selectedCount: (selected: number, of: number) => `${selected} of ${of} selected`,
    selectAll: "Select all",
    selectNone: "Select none",
    knownTitle: "Already in Drawbridge",
    knownAs: (id: string) => `in Drawbridge as ${id}`,
    unusableTitle: "Cannot be imported",
    unreadableTitle: "Files that cannot be read",
    unreadableHint: "Correct the file, and search again.",
    processes: (processes: number, memory: string) =>
      processes === 1
        ? `One process runs now and uses ${memory}.`
        : `${processes} processes run now and use ${memory}.`,
    savesMemory: (memory: string) => `One shared process saves ${memory}.`,
    asSecrets: "Stored as secrets:",
    files: (count: number) => plural(count, "file"),
    filesOf: (name: string) => `The files that have ${name}`,
    inputMissing: "Enter a value, or deselect the server.",
    chooseOne: "Choose one…",
    storedAsSecret: "Stored as a secret.",
    projects: "Search project folders too",
    projectsLabel: "Project folders",
    projectsHint: "Full paths, one per line, on the machine where Drawbridge runs.",
    search: "Search again",
    preview: "Show changes",
    selectFirst: "Select at least one server.",
    waitForSearch: "Wait until the files are read.",
  },

  help: {
    label: "How an import works",
    points: [
      "Equal servers in several files become one server, which all clients share.",
      "Values that look like secrets move to the secret store. The server's spec only refers to them.",
      "Each client gets one entry that starts Drawbridge instead of its own entries. Everything else in its file stays as it is.",
      "Calls then pass through Drawbridge: its policy decides them, and it asks you if needed.",
      "You can undo the whole import later. The files are then as before, unless another program has changed them since.",
    ],
  },

  nothing: {
    title: "No servers found",
    text: "None of the files below names a server. If your servers belong to a project, search its folder too. You can also add a server by hand or paste its JSON.",
    searched: "Files searched",
    missing: "not found",
    add: "Add server",
  },

  clients: {
    connect: "Connect these clients to Drawbridge",
    connectHint:
      "The imported entries are removed from the clients' files, and one entry for Drawbridge takes their place. You can undo this.",
    notConnected:
      "The clients' files stay as they are. Each client still starts its own processes of the servers, and Drawbridge does not see those calls.",
    none: "No client is affected yet.",
    removesKnown: (count: number) =>
      count === 1
        ? "Also remove the entry of the server that Drawbridge already has"
        : `Also remove the entries of the ${count} servers that Drawbridge already has`,
    askOnce: "Let only Drawbridge ask before a call, if the client supports it",
    restores: "Restore Drawbridge's entry if another program changes or removes it",
  },

  preview: {
    title: "Check the changes",
    lead: "Nothing has changed yet.",
    loading: "Preparing the changes…",
    added: (count: number) => `${plural(count, "server")} to add`,
    noneAdded: "No server is added.",
    secrets: (count: number) =>
      count === 1 ? "1 value to store as a secret" : `${count} values to store as secrets`,
    secretsHint: (areRemovedFromFiles: boolean) =>
      areRemovedFromFiles
        ? "Only the names are shown. The values are removed from the files below."
        : "Only the names are shown. The clients' files keep the values too.",
    noSecrets: "No value is stored as a secret.",
    files: (count: number) => `${plural(count, "file")} to change`,
    noFiles: "The clients' files stay as they are.",
    isNew: "new file",
    untouched: (count: number) => `${plural(count, "file")} that Drawbridge cannot change`,
    untouchedHint:
      "The servers are imported anyway. The client of each file keeps its own entries until you correct the file and connect the client on the Clients screen.",
    back: "Back",
    import: (count: number) => (count === 0 ? "Change files" : `Import ${plural(count, "server")}`),
    nothingToDo: "Nothing would change. Go back and select a server.",
    importing: "Importing the servers and changing the files…",
    outdated: "Nothing was imported, and no file was changed.",
    again: "Show changes again",
  },

  done: {
    title: "Import finished",
    imported: (count: number) =>
      count === 0 ? "No server was added." : `${plural(count, "server")} imported.`,
    filesChanged: (count: number) => `${plural(count, "file")} changed:`,
    noFiles: "No file was changed.",
    restart: "Restart the clients of these files, so that they read their new settings.",
    waiting: (count: number) =>
      count === 1
        ? "1 server waits for you before it starts:"
        : `${count} servers wait for you before they start:`,
    review: (name: string) => `Open ${name}`,
    untouched: "These files were not changed:",
    untouchedHint:
      "Correct each file, then connect its client on the Clients screen. Until then, the client starts its own processes of the servers.",
    clientsLink: "Open Clients",
    undo: "Undo the import",
    undoHint:
      "“Undo the import” restores the files and removes the imported servers with their secrets.",
    undoing: "Restoring the files and removing the servers…",
    close: "Done",
  },

  undone: {
    title: "Import undone",
    removed: (count: number) => `${plural(count, "imported server")} removed.`,
    allRestored: "The clients' files are as they were before.",
    partsUndone: "Drawbridge's changes to the clients' files were undone.",
    someFailed: (count: number) =>
      count === 1 ? "1 file could not be restored." : `${count} files could not be restored.`,
    failedHint:
      "Correct the cause, and undo the rest. Drawbridge keeps its copies of these files until then.",
    undoRest: "Undo the rest",
    outcomes: {
      restored: "restored exactly",
      removed: "removed, because it did not exist before",
      own_changes_undone: "only Drawbridge's part was undone, because the file has changed since",
      gone: "no longer exists",
    },
    again: "Import again",
  },

  closing: {
    title: "Close the import?",
    text: "Nothing has been changed. If you close the import, your selection and the values that you entered are lost.",
    changing:
      "Drawbridge is still changing files. It goes on if you close the dialog, and the Clients screen shows the result.",
    action: "Close import",
  },
};
