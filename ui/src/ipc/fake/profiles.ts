/** The profiles of the fake hub. */

import type { ClientView, Profile, ProfileView, ServerView } from "../bindings";

export function profiles(): Profile[] {
  return [
    {
      name: "reviews",
      servers: { filesystem: ["read_text_file"], github: null },
      folder: "/home/me/src/website",
    },
    {
      name: "writing",
      servers: { filesystem: ["read_text_file", "list_directory", "search_files"] },
      folder: null,
    },
  ];
}

export function toProfileView(
  profile: Profile,
  servers: ServerView[],
  clients: ClientView[],
): ProfileView {
  const visibleTools = servers.flatMap((server) => {
    const tools = profile.servers[server.id];
    if (tools === undefined || server.spec.visibility === "deferred") return [];
    return server.tools.filter(
      (tool) => !tool.hidden && (tools === null || tools.includes(tool.name)),
    );
  });
  return {
    ...profile,
    clients: clients
      .filter((client) => client.profile === profile.name)
      .map((client) => client.name),
    tools: visibleTools.length,
    tokens: visibleTools.reduce((sum, tool) => sum + tool.tokens, 0),
  };
}

export function putProfile(all: Profile[], profile: Profile): Profile[] {
  return [...all.filter((other) => other.name !== profile.name), profile].toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
}
