import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const rows = () => screen.getAllByTestId("server-row").map((row) => row.dataset["server"]);
const row = (id: string) =>
  screen.getAllByTestId("server-row").find((row) => row.dataset["server"] === id) as HTMLElement;
const link = (id: string) => row(id).querySelector("a") as HTMLElement;

describe("the list of servers", () => {
  it("shows servers that need attention first, and opens the first server", async () => {
    await open("#/servers", (hub) => {
      const last = hub.servers.at(-1);
      if (last) Object.assign(last, { state: "error", reason: "it crashed" });
    });
    const groups = screen.getAllByTestId("server-group").map((group) => group.dataset["group"]);
    expect(groups).toEqual(["attention", "on", "off"].filter((id) => groups.includes(id)));
    expect(groups[0]).toBe("attention");
    const [first] = rows();
    expect(screen.getByTestId("server-detail").dataset["server"]).toBe(first);
    const heading = within(screen.getAllByTestId("server-group")[0] as HTMLElement);
    expect(heading.getByRole("heading").textContent).toMatch(/Needs attention \d/);
  });

  it("finds tools, and opens the server at the tool", async () => {
    await open("#/servers");
    await user.type(screen.getByTestId("server-search"), "write_file");
    expect(rows()).toEqual(["filesystem"]);
    const tool = screen.getByTestId("found-tool");
    expect(tool.textContent).toBe("write_file");
    await user.click(tool);
    await advanceTime(1);
    expect(location.hash).toBe("#/servers/filesystem/tools/write_file");
    const opened = screen
      .getAllByTestId("tool-row")
      .find((element) => element.dataset["tool"] === "write_file") as HTMLElement;
    expect(within(opened).getByTestId("tool-toggle").getAttribute("aria-expanded")).toBe("true");
  });

  it("says that nothing matches the search", async () => {
    await open("#/servers");
    await user.type(screen.getByTestId("server-search"), "no such thing");
    expect(screen.getByTestId("servers-no-match").textContent).toContain("No server and no tool");
  });

  it("moves through the servers with the arrow keys", async () => {
    await open("#/servers");
    const [first, second] = rows();
    link(first as string).focus();
    await user.keyboard("{ArrowDown}");
    await advanceTime(1);
    expect(document.activeElement).toBe(link(second as string));
    expect(screen.getByTestId("server-detail").dataset["server"]).toBe(second);
  });
});

describe("several servers", () => {
  it("are disabled together, and a failure names its server", async () => {
    const hub = await open("#/servers");
    await user.click(screen.getByTestId("servers-select"));
    await user.click(within(row("filesystem")).getByTestId("server-select"));
    await user.click(within(row("github")).getByTestId("server-select"));
    hub.failures.set("servers.enable", new IpcError("internal", "The disk is full."));
    await user.click(screen.getByTestId("bulk-disable"));
    await advanceTime(1);
    expect(
      listParams(hub, "servers.enable")
        .map(({ id }) => id)
        .sort(),
    ).toEqual(["filesystem", "github"]);
    expect(screen.getByTestId("bulk-failures").textContent).toContain("The disk is full.");
    expect(screen.getByTestId("bulk-failures").textContent).toContain("Done for 1 of 2 servers.");
  });

  it("get a rule each", async () => {
    const hub = await open("#/servers");
    await user.click(screen.getByTestId("servers-select"));
    await user.click(within(row("filesystem")).getByTestId("server-select"));
    await user.click(within(row("github")).getByTestId("server-select"));
    await user.selectOptions(screen.getByTestId("bulk-policy"), "deny");
    await advanceTime(1);
    expect(listParams(hub, "policy.set")).toMatchObject([
      { server: "filesystem", tool: null, effect: "deny" },
      { server: "github", tool: null, effect: "deny" },
    ]);
  });

  it("are removed after some seconds, unless a person undoes the removal", async () => {
    const hub = await open("#/servers");
    await user.click(screen.getByTestId("servers-select"));
    await user.click(within(row("filesystem")).getByTestId("server-select"));
    await user.click(screen.getByTestId("bulk-remove"));
    expect(rows()).not.toContain("filesystem");
    await user.click(screen.getByTestId("removal-undo"));
    await advanceTime(20_000);
    expect(rows()).toContain("filesystem");
    expect(listParams(hub, "servers.remove")).toEqual([]);

    await user.click(screen.getByTestId("servers-select"));
    await user.click(within(row("filesystem")).getByTestId("server-select"));
    await user.click(screen.getByTestId("bulk-remove"));
    await advanceTime(20_000);
    expect(listParams(hub, "servers.remove")).toEqual([{ id: "filesystem" }]);
    expect(rows()).not.toContain("filesystem");
  });
});

describe("the policy for a whole server", () => {
  it("is a rule, and is shown as a rule", async () => {
    const hub = await open("#/servers/filesystem");
    expect(screen.getByTestId("server-rule").textContent).toContain("No rule for the whole server");
    await user.selectOptions(screen.getByTestId("server-policy"), "ask");
    await advanceTime(1);
    expect(listParams(hub, "policy.set")).toEqual([
      { effect: "ask", server: "filesystem", tool: null, client: null, user: null, kind: null },
    ]);
    expect(screen.getByTestId("server-rule").textContent).toContain("Rule:");
    await user.selectOptions(screen.getByTestId("server-policy"), "default");
    await advanceTime(1);
    expect(screen.getByTestId("server-rule").textContent).toContain("No rule for the whole server");
  });
});
