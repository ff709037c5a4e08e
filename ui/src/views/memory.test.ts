import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const rows = () => screen.queryAllByTestId("memory-row");
const rowCount = () => screen.getByRole("table").getAttribute("aria-rowcount");
const ids = () => rows().map((row) => Number(row.dataset.id));

describe("the memory", () => {
  it("is searched in the hub, and filtered by category and user", async () => {
    const hub = await open("#/memory");
    expect(ids()).toEqual([5, 4, 3, 2, 1]);
    await user.type(screen.getByTestId("memory-query"), "deploy");
    await advanceTime(300);
    expect(ids()).toEqual([2]);
    expect(listParams(hub, "memory.list").at(-1)?.query).toBe("deploy");
    await user.clear(screen.getByTestId("memory-query"));
    await user.selectOptions(screen.getByTestId("memory-filter-category"), "coding");
    await advanceTime(300);
    expect(ids()).toEqual([2, 1]);
    await user.selectOptions(screen.getByTestId("memory-filter-user"), "grace");
    await advanceTime(1);
    expect(ids()).toEqual([5]);
    await user.type(screen.getByTestId("memory-query"), "nothing");
    await advanceTime(300);
    expect(screen.getByText(/No entry matches/)).toBeTruthy();
  });

  it("shows hidden characters in the names of categories and users", async () => {
    await open("#/memory", (fake) => {
      const [first] = fake.memory;
      if (first)
        fake.memory = [
          { ...first, id: 99, category: "a\u202eb", user: "c\u200bd" },
          ...fake.memory,
        ];
    });
    expect(screen.getByTestId("memory-filter-category").textContent).toContain("a⟨U+202E⟩b");
    expect(screen.getByTestId("memory-filter-user").textContent).toContain("c⟨U+200B⟩d");
  });

  it("lets a person add, edit and delete entries", async () => {
    const hub = await open("#/memory");
    await user.click(screen.getByTestId("memory-add"));
    await user.type(screen.getByTestId("memory-content"), "Likes tea");
    await user.type(screen.getByTestId("memory-tags"), "drink, hot");
    await user.click(screen.getByTestId("memory-save"));
    await advanceTime(1);
    expect(hub.memory[0]).toMatchObject({
      content: "Likes tea",
      category: "general",
      tags: ["drink", "hot"],
      user: "default",
    });
    const [first] = rows();
    await user.click(within(first as HTMLElement).getByTestId("memory-edit"));
    await user.clear(screen.getByTestId("memory-content"));
    await user.type(screen.getByTestId("memory-content"), "Likes coffee");
    await user.click(screen.getByTestId("memory-save"));
    await advanceTime(1);
    expect(rows()[0]?.textContent).toContain("Likes coffee");
    await user.click(within(rows()[0] as HTMLElement).getByTestId("memory-delete"));
    expect(hub.memory).toHaveLength(6);
    expect(ids()).toEqual([5, 4, 3, 2, 1]);
    await user.click(screen.getByTestId("removal-undo"));
    expect(ids()).toHaveLength(6);
    await user.click(within(rows()[0] as HTMLElement).getByTestId("memory-delete"));
    window.dispatchEvent(new Event("pagehide"));
    await advanceTime(1);
    expect(hub.memory).toHaveLength(5);
    expect(ids()).toEqual([5, 4, 3, 2, 1]);
  });

  it("shows an entry that a client stores meanwhile, and reads more on request", async () => {
    const hub = await open("#/memory", (fake) => {
      const [first] = fake.memory;
      if (!first) throw new Error("the fake has entries");
      fake.memory = Array.from({ length: 120 }, (_, index) => ({ ...first, id: 120 - index }));
    });
    expect(rows()).toHaveLength(50);
    await user.click(screen.getByTestId("memory-more"));
    await advanceTime(1);
    // The count includes the header.
    expect(rowCount()).toBe("101");
    await hub.call("memory.add", { user: "default", content: "new", category: null, tags: [] });
    await advanceTime(1);
    expect(ids()[0]).toBe(121);
    // The count includes the header.
    expect(rowCount()).toBe("101");
  });

  it("says that it is off, and what to do if it is empty", async () => {
    await open("#/memory", (hub) => {
      hub.memory = [];
      const server = hub.servers.find(({ id }) => id === "memory");
      if (server) server.state = "disabled";
    });
    expect(screen.getByTestId("memory-off").textContent).toContain("The memory is off");
    expect(screen.getByTestId("memory-empty").textContent).toContain("store_memory");
  });

  it("is a server that can be switched off, but not edited or removed", async () => {
    await open("#/servers/memory");
    expect(screen.getByTestId("server-built-in").textContent).toBe("built in");
    expect(screen.getByTestId("server-enable")).toBeTruthy();
    for (const action of ["server-edit", "server-remove", "server-restart"])
      expect(screen.queryByTestId(action)).toBeNull();
  });

  it("belongs to the user of a client, which a person changes", async () => {
    const hub = await open("#/clients");
    const row = screen
      .getAllByTestId("client-row")
      .find((element) => element.dataset.client === "cursor") as HTMLElement;
    await user.click(within(row).getByTestId("client-change-user"));
    await user.clear(screen.getByTestId("user-name"));
    await user.type(screen.getByTestId("user-name"), "anna");
    await user.click(screen.getByTestId("user-save"));
    await advanceTime(1);
    expect(listParams(hub, "clients.set_user")).toEqual([{ name: "cursor", user: "anna" }]);
    expect(within(row).getByTestId("client-change-user").textContent.trim()).toBe("anna");
  });
});
