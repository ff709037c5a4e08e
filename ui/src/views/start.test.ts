import { readFileSync } from "node:fs";

import { render, screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import App from "../App.svelte";
import { FakeHub } from "../ipc/fake";
import { advanceTime, open, withFakeTime } from "../test/app";

withFakeTime();

describe("the window", () => {
  it("opens with a screen that it chooses", async () => {
    await open("");
    expect(location.hash).toMatch(/^#\/(approvals|overview)$/);
  });

  it("shows the icon of the app", async () => {
    // A constant keeps Vite from treating these files as assets.
    const [ICON, SHOWN] = ["../../../icons/drawbridge.svg", "../../public/"];
    await open("");
    const source = screen.getByTestId("app-icon").getAttribute("src") ?? "";
    const read = (url: URL) => readFileSync(url, "utf8");
    expect(read(new URL(SHOWN + source, import.meta.url))).toBe(
      read(new URL(ICON, import.meta.url)),
    );
  });

  it("keeps a screen that is chosen while it loads", async () => {
    location.hash = "";
    render(App, { ipc: new FakeHub() });
    location.hash = "#/logs";
    await advanceTime(1);
    expect(location.hash).toBe("#/logs");
  });
});
