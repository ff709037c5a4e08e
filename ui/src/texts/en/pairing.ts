/** Texts about clients that ask to be paired. */

export const pairing = {
  banner: (count: number) =>
    count === 1
      ? "A program asks to use your servers."
      : `${count} programs ask to use your servers.`,
  showRequest: "Show the request",
  title: "A program asks to use your servers",
  lead: "Approve the request only if you have just set up this client yourself. The client sees no tools until you approve it.",
  claimedName: "It calls itself",
  program: "Program",
  folder: "In the folder",
  notRevealed: "The system does not reveal which program it is.",
  process: (pid: number) => `process ${pid}`,
  token: "Token",
  ownToken: "The client uses its own token, which becomes valid if you approve.",
  newToken: "The client gets a new token.",
  wasRevoked: (client: string) => `This is the token of ${client}, which you have revoked.`,
  name: "Name in Drawbridge",
  nameMissing: "Enter a name first.",
  access: "Access",
  everything: "Everything",
  approve: "Approve",
  deny: "Deny",
  approveClient: (client: string) => `Approve ${client}`,
  denyClient: (client: string) => `Deny ${client}`,
  denyHint: "A denied program cannot ask again for ten minutes.",
  justAppeared: "The request has just appeared. Read it first.",
};
