/** Texts of the Clients screen. */

export const clients = {
  title: "Clients",
  lead: "AI applications that may connect, each with its own token.",
  add: "Add client",
  emptyTitle: "No clients yet.",
  emptyHint:
    "Add the first client, such as Claude Code or Cursor. You get the JSON for its MCP settings. The client then reaches every server through Drawbridge.",

  caption: "Clients",
  client: "Client",
  state: "State",
  access: "Access",
  app: "App",
  lastSeen: "Last seen",
  connectsVia: "Connects via",
  actions: "Actions",
  revoked: "Revoked",
  notConnected: "Not connected",
  noAccess: "none",
  unknownApp: "not known yet",
  revokedAt: (moment: string) => `revoked ${moment}`,
  never: "never",
  token: "token",
  stdioBridge: "stdio bridge",
  accessOf: (client: string) => `Access of ${client}`,
  everything: "Everything",
  noProfiles: "There are no profiles yet. Add one below.",

  revoke: "Revoke",
  revokeStep: "Revoke…",
  revokeClient: (client: string) => `Revoke ${client}`,
  revokeTitle: (client: string) => `Revoke ${client}?`,
  revokeHint:
    "Its token stops working, and its sessions end at once. To let it connect again, add a client with the same name. It gets a new token.",

  addTitle: "Add client",
  addedTitle: (client: string) => `Client ${client} added`,
  name: "Name",
  nameHint: "A name that you recognize in approvals and rules, such as claude-code or cursor.",
  namePlaceholder: "claude-code",
  nameMissing: "Enter a name first.",
  tokenOnce: "The token is shown only now.",
  tokenOnceHint:
    "Drawbridge keeps no readable copy. If you lose it, revoke the client and add it again.",
  endpoint: "Endpoint",
  copyEndpoint: "Copy the endpoint",
  tokenLabel: "Token",
  copyToken: "Copy the token",
  transports: "How the client connects",
  overHttp: "Over HTTP",
  overStdio: "Over stdio",
  httpHint:
    "Paste this into the client's MCP settings. It contains the token, so keep that file private.",
  stdioHint:
    "For clients that can only start programs. It contains no token: Drawbridge knows the client by its name.",
  copyConfig: "Copy the configuration",
  done: "Done",
};
