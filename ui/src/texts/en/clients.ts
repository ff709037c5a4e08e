/** Texts of the Clients screen. */

import { phrase } from "../phrase";
import { plural } from "../plural";

export const clients = {
  title: "Clients",
  lead: "AI applications that use your servers through Drawbridge.",
  add: "Add client by hand",
  listTitle: "Clients that may connect",
  emptyTitle: "No clients yet.",
  emptyHint:
    "Connect a client above. For a client that Drawbridge does not know, choose “Add client by hand”: you get an address and a token for its MCP settings.",

  caption: "Clients",
  client: "Client",
  state: "State",
  user: "User",
  changeUser: (user: string, client: string) => `${user}: change the user of ${client}`,
  userTitle: (client: string) => `User of ${client}`,
  userHint:
    "The client reads and writes the memory of its user. If you change the user, the sessions of the client end, and it connects again.",
  userMissing: "Enter the name of a user, such as default.",
  saveUser: "Save user",
  userOptional: "User (optional)",
  userPlaceholder: "default",
  limit: {
    change: (limit: string, client: string) => `${limit}: change the limit of ${client}`,
    none: "No limit",
    perMinute: (calls: number) => `${plural(calls, "call")} a minute`,
    title: (client: string) => `Limit of ${client}`,
    calls: "Calls a minute (optional)",
    hint: "Drawbridge denies further calls and tells the model how long to wait. Prompts and resources count too. Leave the field empty for no limit.",
    invalid: "Enter a whole number of calls, at least 1, or leave the field empty.",
    save: "Save limit",
  },
  access: "Access",
  software: "Software",
  lastSeen: "Last seen",
  connectsVia: "Connects via",
  actions: "Actions",
  revokedTitle: "Revoked clients",
  revoked: "Revoked",
  notConnected: "Not connected",
  noAccess: "none",
  unknownSoftware: "not known yet",
  revokedAt: (moment: string) => `revoked ${moment}`,
  never: "never",
  token: "token",
  stdioBridge: "stdio bridge",
  accessOf: (client: string) => `Access of ${client}`,
  everything: "Everything",
  rotate: {
    button: "New token…",
    buttonOf: (client: string) => `New token for ${client}`,
    title: (client: string) => `New token for ${client}`,
    lead: "Drawbridge writes the new token to the files that it manages for this client. The old token is valid until the new one is used, at most for 24 hours.",
    lifetime: "Lifetime of the new token",
    sameLifetime: "the same as the old token's",
    days: (days: number) => `${days} days`,
    unlimited: "unlimited",
    action: "Create token",
    copyNow: "Copy the token now: it is not shown again.",
    copyToken: "Copy the token",
    updated: (path: string) => `${path} has the new token.`,
    failed: (path: string, reason: string) => `${path} still has the old token: ${reason}`,
  },
  profileRemoved: "Nothing (profile removed)",
  expired: "expired",
  expires: (at: string) => `expires ${at}`,
  noProfiles: "There are no profiles yet. Add one below.",

  ignoresToolChanges:
    "The client has not read its tools again since they changed. Restart it if a tool is missing.",
  gaveUp: (count: number, longest: string) =>
    `In the last 24 hours, the client gave up on ${plural(count, "call")} before you decided. Its longest wait was ${longest}. Let it wait longer, or decide sooner.`,

  mute: {
    state: "Muted",
    /** `until` is a time of day, `left` is minutes and seconds. */
    until: (until: string, left: string) => `until ${until} (${left} left)`,
    unmute: "Unmute",
    unmuteClient: (client: string) => `Unmute ${client}`,
    notice: (client: string) =>
      phrase`${client} is muted: nobody decided three of its requests in a row, so its requests that need your decision are refused.`,
  },

  revoke: "Revoke",
  revokeButton: "Revoke…",
  revokeClient: (client: string) => `Revoke ${client}`,
  revokeTitle: (client: string) => `Revoke ${client}?`,
  revokeHint:
    "The client's token stops working, and its sessions end at once. To let the client connect again, add a client with the same name. Drawbridge then creates a new token.",

  addTitle: "Add client by hand",
  addedTitle: (client: string) => `Client ${client} added`,
  name: "Name",
  nameHint: "A name that you recognize in approvals and rules, such as claude-code or cursor.",
  namePlaceholder: "claude-code",
  nameMissing: "Enter a name first.",
  tokenOnce: "The token is shown only now.",
  tokenOnceHint:
    "Drawbridge keeps no readable copy. If you lose the token, choose “New token…” beside the client.",
  endpoint: "Endpoint",
  copyEndpoint: "Copy the endpoint",
  tokenLabel: "Token",
  copyToken: "Copy the token",
  transports: "How the client connects",
  overHttp: "Over HTTP",
  overStdio: "Over stdio",
  httpHint:
    "Paste this configuration into the client's MCP settings. The file then contains the token, so keep the file private.",
  stdioHint:
    "For clients that can only start programs. This configuration contains no token: Drawbridge knows the client by its name.",
  copyConfig: "Copy the configuration",
  done: "Done",
};
