import { screen } from "@testing-library/svelte";
import { describe, expect, it, vi } from "vitest";
import type { LogLine } from "../ipc";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

function line(seq: number, part: Partial<LogLine> = {}): LogLine {
  return {
    seq,
    at: Date.now(),
    level: "info",
    server: null,
    area: "hub",
    text: `line ${String(seq)}`,
    ...part,
  };
}

const lines = () => screen.queryAllByTestId("log-line").map((row) => row.textContent);

describe("the Logs screen", () => {
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

  it("puts only the lines in view into the page, and jumps to the newest one", async () => {
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
