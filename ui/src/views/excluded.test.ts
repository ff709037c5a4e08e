import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { open, withFakeTime } from "../test/app";

withFakeTime();

describe("excluded entries of a server's lists", () => {
  it("are shown with their reasons", async () => {
    await open("#/servers/github");
    const entries = within(screen.getByTestId("excluded-entries"))
      .getAllByRole("listitem")
      .map((entry) => entry.textContent);
    expect(entries).toEqual([
      "Tool search_code: its definition has 301204 bytes; at most 262144 are allowed",
      "Prompt entry 2 of prompts/list: it has no 'name'",
    ]);
  });

  it("are not mentioned if there are none", async () => {
    await open("#/servers/filesystem");
    expect(screen.queryByTestId("excluded-entries")).toBeNull();
  });

  it("are counted if there are too many to name", async () => {
    await open("#/servers/filesystem", (hub) => {
      const server = hub.servers.find((server) => server.id === "filesystem");
      if (server)
        server.excluded = {
          entries: [{ kind: "tools", name: "a", reason: "it is too long" }],
          more: 50,
        };
    });
    expect(screen.getByTestId("excluded-entries").textContent).toContain("and 50 more");
  });
});
