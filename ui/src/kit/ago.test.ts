import { render, screen } from "@testing-library/svelte";
import { describe, expect, it, vi } from "vitest";
import { advanceTime, withFakeTime } from "../test/app";
import Ago from "./Ago.svelte";

withFakeTime();

describe("a relative time", () => {
  it("follows the clock, and has the exact time on hover and for screen readers", async () => {
    vi.setSystemTime(new Date(2026, 10, 21, 16, 5, 9));
    render(Ago, { at: Date.now() - 30_000, phrase: (ago) => `synced ${ago}` });
    const time = screen.getByRole("time");
    const exact = "21 Nov 2026, 16:04:39";
    expect(time.textContent).toBe(`synced 30 s ago, ${exact}`);
    expect(time.title).toBe(exact);
    expect(time.querySelector(".sr-only")?.textContent).toContain(exact);
    await advanceTime(31_000);
    expect(time.textContent).toContain("synced 1 min ago");
  });
});
