import { render } from "@testing-library/svelte";
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

  it("keeps a screen that is chosen while it loads", async () => {
    location.hash = "";
    render(App, { ipc: new FakeHub() });
    location.hash = "#/logs";
    await advanceTime(1);
    expect(location.hash).toBe("#/logs");
  });
});
