import { screen } from "@testing-library/svelte";
import { describe, expect, it, vi } from "vitest";
import type { LogLine } from "../ipc";
import { advanceTime, follow, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

function line(seq: number, part: Partial<LogLine> = {}): LogLine {
  return {
    seq,
    at: Date.now(),
    level: "info",
    server: null,
    kind: "hub",
    area: "hub",
    text: `line ${String(seq)}`,
    ...part,
  };
}

const lines = () => screen.queryAllByTestId("log-line").map((row) => row.textContent);

describe("the log", () => {
  it("takes its filters from the URL, and keeps changes there", async () => {
    const hub = await open("#/logs?source=weather&level=error&range=hour");
    await advanceTime(300);
    expect(listParams(hub, "logs.list").at(-1)).toMatchObject({
      server: "weather",
      level: "error",
      since: expect.any(Number) as number,
    });
    expect(screen.getByTestId<HTMLSelectElement>("log-filter-source").value).toBe("weather");
    await user.selectOptions(screen.getByTestId("log-filter-source"), ":hub");
    await user.selectOptions(screen.getByTestId("log-filter-range"), "all");
    await user.type(screen.getByTestId("log-filter-text"), "port");
    await advanceTime(300);
    expect(location.hash).toBe("#/logs?source=%3Ahub&level=error&text=port");
    expect(listParams(hub, "logs.list").at(-1)).toMatchObject({
      server: null,
      since: null,
      text: "port",
    });
  });

  it("puts only the lines in view into the page, and jumps to the newest line", async () => {
    await open("#/logs", (fake) => {
      fake.logs = Array.from({ length: 3000 }, (_, index) => line(index + 1));
    });
    expect(screen.getByTestId("log-count").textContent).toContain("3000");
    expect(lines().length).toBeLessThan(200);
    const area = screen.getByRole("log");
    Object.defineProperty(area, "scrollHeight", { value: 20_000, configurable: true });
    area.scrollTop = 0;
    area.dispatchEvent(new Event("scroll"));
    await advanceTime(1);
    expect(screen.getByTestId<HTMLInputElement>("log-follow").checked).toBe(false);
    await user.click(screen.getByTestId("log-newest"));
    expect(screen.getByTestId<HTMLInputElement>("log-follow").checked).toBe(true);
    expect(screen.queryByTestId("log-newest")).toBeNull();
  });

  it("loads older lines while scrolling up, and keeps the same line in view", async () => {
    const hub = await open("#/logs", (fake) => {
      fake.logs = Array.from({ length: 9000 }, (_, index) => line(index + 1));
    });
    const count = () => screen.getByTestId("log-count").textContent;
    expect(count()).toContain("5000");
    const area = screen.getByRole("log");
    Object.defineProperty(area, "scrollHeight", { value: 100_000, configurable: true });
    area.scrollTop = 40;
    area.dispatchEvent(new Event("scroll"));
    await advanceTime(1);
    expect(listParams(hub, "logs.list").at(-1)).toMatchObject({ before: 4001, limit: 2000 });
    expect(count()).toContain("7000");
    // A line is 20 px high. The 2000 new lines are above the two lines that were above the view.
    expect(area.scrollTop).toBe((2000 + 2) * 20);
    await user.click(screen.getByTestId("log-older"));
    await advanceTime(1);
    expect(count()).toContain("9000");
    expect(screen.queryByTestId("log-older")).toBeNull();
  });

  it("keeps older lines if it reads the newest again, unless lines between them are missing", async () => {
    const hub = await open("#/logs", (fake) => {
      fake.logs = Array.from({ length: 7000 }, (_, index) => line(index + 1));
    });
    const count = () => screen.getByTestId("log-count").textContent;
    await user.click(screen.getByTestId("log-older"));
    await advanceTime(1);
    expect(count()).toContain("7000");
    hub.logs = [...hub.logs, line(7001)];
    hub.setConnected(false);
    hub.setConnected(true);
    await advanceTime(1);
    expect(count()).toContain("7001");
    expect(screen.queryByTestId("log-older")).toBeNull();

    hub.logs = Array.from({ length: 20_000 }, (_, index) => line(index + 1));
    hub.setConnected(false);
    hub.setConnected(true);
    await advanceTime(1);
    expect(count()).toContain("5000");
    expect(screen.getByTestId("log-older")).toBeTruthy();
  });

  it("asks the hub until it has searched all older lines", async () => {
    const hub = await open("#/logs?text=needle", (fake) => {
      fake.logs = Array.from({ length: 50_000 }, (_, index) => line(index + 1));
      fake.logs[3] = line(4, { text: "the needle" });
    });
    await advanceTime(300);
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toContain("the needle");
    const positions = listParams(hub, "logs.list").map(({ before }) => before);
    expect(positions.slice(-3)).toEqual([null, 30_001, 10_001]);
    expect(screen.queryByTestId("log-loading-older")).toBeNull();
  });

  it("links lines to their call, and shows the lines of one call", async () => {
    const hub = await open("#/logs?call=call%201", (fake) => {
      fake.logs = [line(1), line(2, { call: "call 1", text: "decided" }), line(3)];
    });
    expect(lines()).toHaveLength(1);
    expect(listParams(hub, "logs.list").at(-1)?.call).toBe("call 1");
    await user.click(screen.getByTestId("log-all-calls"));
    await advanceTime(300);
    expect(location.hash).toBe("#/logs");
    expect(lines()).toHaveLength(3);
    expect(screen.getByTestId("log-call").getAttribute("href")).toBe("#/calls/call%201");
  });

  it("shows lines of one kind", async () => {
    const hub = await open("#/logs", (fake) => {
      fake.logs = [line(1), line(2, { server: "weather", kind: "stderr", area: "stderr" })];
    });
    await user.selectOptions(screen.getByTestId("log-filter-kind"), "stderr");
    await advanceTime(300);
    expect(lines()).toHaveLength(1);
    hub.log({ server: "weather", kind: "stdout", area: "stdout", text: "a banner" });
    await advanceTime(200);
    expect(lines()).toHaveLength(1);
    expect(location.hash).toBe("#/logs?kind=stderr");
  });

  it("hides the stdout of a server until a person shows it", async () => {
    await open("#/servers/weather/log", (fake) => {
      fake.logs = [
        line(1, { server: "weather", kind: "stdout", area: "stdout", text: "a banner" }),
        line(2, { server: "weather", kind: "stderr", area: "stderr", text: "an error" }),
      ];
    });
    await advanceTime(300);
    expect(lines().join()).not.toContain("a banner");
    expect(lines().join()).toContain("an error");
    await user.click(screen.getByTestId("log-stdout"));
    await advanceTime(300);
    expect(lines().join()).toContain("a banner");
  });

  it("shows the lines of a call in its details", async () => {
    const hub = await open("#/calls");
    const request = hub.addApproval({ arguments: '{"path":"/secret"}' });
    await hub.call("approvals.decide", {
      id: request.id,
      digest: request.digest,
      verdict: { kind: "deny", reason: "not now" },
    });
    await follow(`#/calls/${request.id}`);
    const shown = screen.getAllByTestId("call-line").map((row) => row.textContent);
    expect(shown).toHaveLength(1);
    expect(shown[0]).toContain("was denied by a person (not now)");
    expect(shown[0]).not.toContain("/secret");
    expect(screen.getByTestId("call-logs").getAttribute("href")).toBe(`#/logs?call=${request.id}`);
  });

  it("exports every line that matches", async () => {
    const saved: string[] = [];
    const link = vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => undefined);
    vi.stubGlobal("Blob", function (parts: string[]) {
      saved.push(parts.join(""));
    });
    URL.createObjectURL = () => "#";
    URL.revokeObjectURL = () => undefined;
    await open("#/logs?text=line", (hub) => {
      hub.logs = [
        ...Array.from({ length: 1500 }, (_, index) => line(index + 1)),
        line(1501, { text: "other" }),
      ];
    });
    await advanceTime(300);
    await user.click(screen.getByTestId("log-export"));
    await advanceTime(1);
    vi.unstubAllGlobals();
    expect(link).toHaveBeenCalledOnce();
    link.mockRestore();
    const content = saved[0] ?? "";
    expect(content.trim().split("\n")).toHaveLength(1500);
    expect(content).toMatch(/INFO hub hub: line 1\n/);
  });
});
