/** Texts of the Memory screen. */

import { plural } from "../plural";

export const memory = {
  title: "Memory",
  lead: "The facts that AI clients stored for you with the tools of the built-in memory server.",
  add: "Add entry",
  export: "Export",
  loading: "Reading the memory…",
  off: "The memory is off, so clients cannot use it. Its entries are kept.",
  turnOn: "Open the server",

  filters: "Filter the entries",
  search: "Search",
  searchPlaceholder: "Search contents, categories and tags",
  user: "User",
  allUsers: "All users",
  category: "Category",
  allCategories: "All categories",
  count: (count: number) => plural(count, "entry", "entries"),
  countOfMore: (count: number) => `the first ${plural(count, "entry", "entries")}`,
  showMore: "Show more",

  empty: {
    title: "No entries yet.",
    text: "A client stores an entry with the tool store_memory, after you approve the call. You can also add entries yourself.",
  },
  nothingToExport: "Without a match, there is nothing to export.",
  noMatch: "No entry matches. Change the search or the filters.",

  caption: "Entries",
  content: "Content",
  tags: "Tags",
  updated: "Updated",
  actions: "Actions",
  edit: "Edit…",
  editEntry: (id: number) => `Edit entry ${id}`,
  delete: "Delete…",
  deleteEntry: (id: number) => `Delete entry ${id}`,
  storedBy: (client: string) => `stored by ${client}`,
  addedByHand: "added by hand",

  dialog: {
    addTitle: "Add entry",
    editTitle: (id: number) => `Entry ${id}`,
    content: "Content",
    contentHint: "One fact per entry, so that a search finds it. At most 16 KiB.",
    contentMissing: "Enter the text to remember.",
    categoryPlaceholder: "general",
    tagsHint: "Separate tags with commas.",
    userHint: "Only clients of this user find the entry.",
    save: "Save entry",
  },

  fileName: (date: string) => `drawbridge-memory-${date}.json`,
};
