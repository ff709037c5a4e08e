/** Texts of the Logs screen and of a server's log. */

export const logs = {
  title: "Logs",
  lead: "Messages of Drawbridge and of your servers. Secrets are masked.",
  filters: "Filter the log",
  source: "Source",
  allSources: "All sources",
  hub: "Hub",
  hubShort: "hub",
  level: "Minimum level",
  levels: {
    error: "Errors",
    warn: "Warnings and above",
    info: "Info and above",
    debug: "Debug and above",
    trace: "Everything",
  },
  text: "Text",
  textPlaceholder: "Only lines with this text",

  label: "Log",
  follow: "Follow",
  followPaused: "Paused while you read. New lines are still added.",
  copy: "Copy the lines shown",
  noMatch: "No line has this text. Change the text.",
  emptyServer: "This server has written nothing yet.",
  empty: "No lines yet. They appear here as soon as something happens.",
};
