import { screen, within } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import type { FakeHub } from "../ipc/fake";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();
afterEach(() => localStorage.clear());

function problems(): string[] {
  return screen.queryAllByTestId("overview-problem").map((item) => item.dataset.problem ?? "");
}

function problem(key: string): HTMLElement {
  const found = screen
    .getAllByTestId("overview-problem")
    .find((item) => item.dataset.problem === key);
  if (!found) throw new Error(`no problem ${key}: ${problems().join(", ")}`);
  return found;
}

/** Removes everything that needs a person. */
function removeProblems(hub: FakeHub): void {
  hub.waiting = [];
  hub.missed = [];
  hub.servers = hub.servers
    .filter((server) => server.state === "active")
    .map((server) => ({ ...server, unaccepted: [] }));
  hub.broken = [];
  hub.pairings = [];
  hub.clientFiles.kinds = [];
}

describe("the first screen", () => {
  it("is the Overview if nothing waits, and its address says so", async () => {
    await open("", removeProblems);
    expect(screen.getByTestId("nav-overview").getAttribute("aria-current")).toBe("page");
    expect(location.hash).toBe("#/overview");
  });

  it("is the Approvals screen while requests wait", async () => {
    await open("", (hub) => {
      removeProblems(hub);
      hub.addApproval();
    });
    expect(screen.getByTestId("nav-approvals").getAttribute("aria-current")).toBe("page");
  });

  it("is the guide on a first run", async () => {
    await open("", (hub) => {
      removeProblems(hub);
      hub.calls = [];
    });
    expect(screen.getByTestId("guide")).toBeTruthy();
  });
});

describe("the Overview", () => {
  it("lists a failed server, with links to its log and to its page", async () => {
    const hub = await open("#/overview", (fake) => {
      removeProblems(fake);
      fake.servers = fake.servers.map((server, index) =>
        index === 0
          ? { ...server, state: "error", reason: "npx: command not found", remedy: "Install Node." }
          : server,
      );
    });
    const failed = hub.servers[0];
    if (!failed) throw new Error("the fake hub has servers");
    expect(problems()).toEqual([`server ${failed.id}`]);
    const item = problem(`server ${failed.id}`);
    expect(item.textContent).toContain("npx: command not found");
    const links = within(item)
      .getAllByRole("link")
      .map((link) => link.getAttribute("href"));
    expect(links).toEqual([`#/logs?source=${failed.id}`, `#/servers/${failed.id}`]);
  });

  it("says how to resume paused calls, and links to no other screen", async () => {
    await open("#/overview", (hub) => {
      removeProblems(hub);
      hub.paused = true;
    });
    expect(problem("paused").textContent).toContain("Press “Resume calls” at the top");
    expect(within(problem("paused")).queryAllByRole("link")).toEqual([]);
    expect(screen.getByTestId("resume-calls").textContent).toContain("Resume calls");
  });

  it("says that nothing needs a person, and adds a request as soon as it waits", async () => {
    const hub = await open("#/overview", removeProblems);
    expect(screen.getByTestId("overview-nothing").textContent).toContain("Nothing needs you.");
    hub.addApproval();
    await advanceTime(200);
    expect(problem("approvals").textContent).toContain("1 request waits");
  });

  it("counts today's calls from midnight on", async () => {
    const hub = await open("#/overview");
    const since = listParams(hub, "overview.show")[0]?.since ?? 0;
    expect(new Date(since).toTimeString().startsWith("00:00:00")).toBe(true);
    const today = hub.calls.filter((call) => call.method === "tools/call" && call.at >= since);
    expect(screen.getByTestId("today-calls").textContent).toContain(String(today.length));
  });

  it("says why today's calls cannot be counted", async () => {
    await open("#/overview", (hub) => {
      hub.failures.set("overview.show", new IpcError("internal", "the database is locked"));
    });
    expect(screen.getByTestId("today-error").textContent).toContain("the database is locked");
  });

  it("shows the counts and the charts if each read takes longer than the time between two reads", async () => {
    const hub = await open("#/overview");
    location.hash = "#/settings";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await advanceTime(1);
    hub.delay = 12_000;
    location.hash = "#/overview";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await advanceTime(13_000);
    expect(screen.getByTestId("today-calls").textContent).toMatch(/\d/);
    expect(screen.getByTestId("overview-chart-calls")).toBeTruthy();
  });

  it("shows the chosen period, even if the answer for another period comes later", async () => {
    const hub = await open("#/overview");
    hub.delay = 3000;
    await user.selectOptions(screen.getByTestId("overview-period"), "month");
    await advanceTime(1);
    hub.delay = 10;
    await user.selectOptions(screen.getByTestId("overview-period"), "week");
    await advanceTime(11);
    const labels = () => screen.getByTestId("overview-chart-calls").textContent;
    const shown = labels();
    await advanceTime(3000);
    expect(labels()).toBe(shown);
  });

  it("draws charts of the chosen period and group, and keeps both in the URL", async () => {
    const hub = await open("#/overview?period=week");
    const rows = () =>
      within(screen.getByTestId("overview-chart-calls")).getAllByRole("row").length - 1;
    expect(rows()).toBe(28);
    await user.selectOptions(screen.getByTestId("overview-by"), "server");
    await user.selectOptions(screen.getByTestId("overview-period"), "month");
    await advanceTime(1);
    expect(rows()).toBe(30);
    expect(location.hash).toBe("#/overview?period=month&by=server");
    expect(listParams(hub, "calls.stats").at(-1)).toMatchObject({
      period: "month",
      group_by: "server",
    });
    const heads = within(screen.getByTestId("overview-chart-calls")).getAllByRole("columnheader");
    expect(heads.map((head) => head.textContent)).toContain("filesystem");
  });

  it("shows the numbers of a chart as a table", async () => {
    await open("#/overview");
    const chart = screen.getByTestId("overview-chart-errors");
    const table = within(chart).getByRole("table");
    expect(table.parentElement?.className).toContain("sr-only");
    await user.click(within(chart).getByRole("button", { name: /^Table: Errors/ }));
    expect(table.parentElement?.className).not.toContain("sr-only");
  });

  it("says what to do if there were no calls", async () => {
    await open("#/overview", (hub) => {
      hub.calls = [];
    });
    expect(screen.getByTestId("overview-no-calls").textContent).toContain("longer period");
  });
});
