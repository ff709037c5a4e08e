/** Texts about the configuration files of clients: connecting, testing and undoing. */

import type {
  ClientAction,
  ClientFileScope,
  ClientFileState,
  FileOutcome,
} from "../../ipc/bindings";
import { plural } from "../plural";

const scopes: Record<ClientFileScope, string> = {
  global: "all projects",
  profile: "another profile",
  project: "one project",
};

const states: Record<ClientFileState, string> = {
  not_connected: "Not connected",
  connected: "Connected",
  outdated: "Needs an update",
  changed: "Changed by another program",
  removed: "Removed by another program",
  broken: "Cannot be read",
};

const actions: Record<ClientAction, string> = {
  connect: "Connected",
  disconnect: "Disconnected",
  import: "Imported servers",
  restore: "Restored the entry",
};

const outcomes: Record<FileOutcome, string> = {
  restored: "The file has the same content as before.",
  removed: "The file did not exist before, and is removed.",
  own_changes_undone:
    "Another program has changed the file since. Only Drawbridge's own part was undone.",
  gone: "The file no longer exists.",
};

export const clientFiles = {
  title: "On this computer",
  lead: "Drawbridge adds its own entry to a client's settings file. You see each change before it is made.",
  noneTitle: "No known client was found on this computer.",
  noneHint:
    "Install a client such as Claude Code, Cursor or VS Code, or choose yours from the other clients below.",
  others: "Other clients",
  othersNote: (count: number) => `${count} that were not found here`,

  notFound: "Not found here",
  noFile: "Drawbridge knows no file of this client. Paste the configuration into its settings.",
  scopes,
  states,
  fileOf: (client: string) => `Files of ${client}`,
  asksOnce: "asks once",
  askOnceHint: "Drawbridge asks before a call, and the client does not.",
  attention: (count: number) =>
    count === 1
      ? "A client's file was changed by another program or cannot be read, so the client may not use Drawbridge as you set it up."
      : `${count} clients' files were changed by other programs or cannot be read, so these clients may not use Drawbridge as you set them up.`,

  connect: "Connect…",
  connectClient: (client: string) => `Connect ${client}`,
  connectProject: "Connect a project…",
  connectProjectOf: (client: string) => `Connect a project of ${client}`,
  repair: "Repair…",
  repairClient: (client: string, path: string) => `Repair the entry of ${client} in ${path}`,
  disconnect: "Disconnect…",
  disconnectClient: (client: string, path: string) => `Disconnect ${client} in ${path}`,
  test: "Test",
  testClient: (client: string, path: string) => `Test the entry of ${client} in ${path}`,
  configuration: "Configuration…",
  configurationOf: (client: string) => `Configuration for ${client}`,
  restore: "Restore the entry if another program changes or removes it",
  restoreImpossible:
    "Drawbridge cannot restore this entry by itself, because the entry contains a token, and Drawbridge does not store the token.",

  unused: (client: string) =>
    `The client has not connected since this entry was written. Restart ${client}, or have it load its MCP servers again.`,

  testing: "Connecting as the client would…",
  testOk: (tools: number, ms: number) => `It works: ${plural(tools, "tool")} in ${ms} ms.`,
  testFailed: "The client cannot connect.",
  entry: "Entry",

  connectTitle: (client: string) => `Connect ${client}`,
  connectLead: "These changes will be made. Nothing is written before you agree.",
  disconnectTitle: (client: string) => `Disconnect ${client}`,
  disconnectLead: "Drawbridge's entry is removed from the file. Everything else stays as it is.",
  where: "Where",
  whereFile: (scope: string, path: string) => `In ${scope}: ${path}`,
  whereProject: "In one project…",
  projectFolder: "Project folder",
  projectHint: "The absolute path of the folder, such as /home/ada/src/shop.",
  projectMissing: "Enter the folder of the project first.",
  how: "How the client connects",
  overBridge: "By starting drawbridge stdio",
  overBridgeHint: "The file contains no token.",
  overHttp: "By URL",
  overHttpHint: "The file contains a token for this client. Undoing the change revokes the token.",
  replacesTokenHint:
    "The file gets a new token, which replaces this client's token. Undoing the change puts the old token back in the file, but the old token may be invalid.",
  askOnce: "Let only Drawbridge ask",
  askOnceWrites: (changes: string[]) => `Also written: ${changes.join("; ")}.`,
  askOnceImpossible:
    "This client has no setting that leaves approval to Drawbridge, so it may ask before each call too.",
  newFile: "new file",
  changedFile: "changed",
  entryIsRight:
    "The file has the right entry already. Drawbridge will check this entry and keep it up to date.",
  nothingToChange: "Nothing has to change: the client is connected.",
  nothingToRemove: "Nothing has to change: the file has no entry of Drawbridge.",
  previewing: "Reading the file…",
  previewAgain: "Show the changes again",
  confirmConnect: "Connect",
  confirmRepair: "Repair",
  confirmDisconnect: "Disconnect",
  notReady: "The changes are not shown yet.",
  diffOf: (path: string) => `Changes to ${path}`,
  goodToKnow: "Good to know",

  connectedTitle: (client: string) => `${client} is connected`,
  connectedHint: (client: string) =>
    `Restart ${client}, or have it load its MCP servers again, so that it reads the file.`,
  disconnectedTitle: (client: string) => `${client} is disconnected`,
  disconnectedHint: (client: string) =>
    `Restart ${client}. Until then it may still use Drawbridge.`,
  done: "Done",
  undo: "Undo",
  undone: "Undone.",
  outcomes,

  pasteHint: (file: string) => `Add this to the client's settings (${file}).`,
  installLink: "Add to the client",
  copyConfiguration: "Copy the configuration",
  loading: "Reading…",

  changesTitle: "Changes to clients' files",
  changesLead:
    "You can undo each change. The files then have the same bytes as before, unless another program has changed them since.",
  changesCaption: "Changes to clients' files, newest first",
  change: "Change",
  changedAt: "When",
  files: "Files",
  actions,
  severalClients: "Several clients",
  serversAdded: (count: number) => `${plural(count, "server")} added`,
  undoneAt: (moment: string) => `undone ${moment}`,
  undoButton: "Undo…",
  undoChange: (change: string) => `Undo: ${change}`,
  undoTitle: "Undo this change?",
  undoHint: (files: number) =>
    `${plural(files, "file")} will be as before the change. If another program has changed a file since, only Drawbridge's own part is undone. If the change added the client with a token, the token stops working.`,
  undoServersHint: (count: number) =>
    `${plural(count, "server")} that this change added will be removed.`,
};
