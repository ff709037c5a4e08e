/** Texts about shared folders, in the settings. */

export const folders = {
  hint: "Clients can read the files in these folders as resources. Each read is recorded, and the policy and profiles apply to the server “folders”.",
  empty: "No folder is shared. Enter the path of a folder below.",
  enabled: "Share these folders",
  path: "Folder to share",
  pathHint: "The absolute path of a folder on the computer that runs Drawbridge.",
  placeholder: "/home/me/notes",
  allFiles: "Also share hidden files and likely secrets",
  allFilesHint: "These are files such as .env, .ssh and id_rsa. By default, they are not shared.",
  add: "Share folder",
  everything: "all files",
  withoutHidden: "without hidden files and likely secrets",
  remove: "Stop sharing",
  removeNamed: (path: string) => `Stop sharing ${path}`,
};
