/** Texts of the keyboard shortcuts. */

export const shortcuts = {
  title: "Keyboard shortcuts",
  open: "Keyboard shortcuts",
  find: "Find",
  skip: "Skip to content",
  or: "or",
  /** The name of the Control key. */
  control: "Ctrl",
  groups: { anywhere: "Anywhere", screens: "Screens", lists: "Lists and dialogs" },
  palette: "Open the command palette",
  help: "Show the keyboard shortcuts",
  search: "Go to the search of the screen",
  add: "Add: a server, client, rule, hook or memory entry",
  page: (page: string) => `Open ${page}`,
  move: "Move through a list",
  ends: "Go to the beginning or the end of a list",
  enter: "Open the entry",
  escape: "Close the dialog, or end the selection",
};
