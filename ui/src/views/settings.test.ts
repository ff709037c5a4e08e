import { screen } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { followTextSize } from "../kit/textSize";
import { advanceTime, open, user, withFakeTime } from "../test/app";

withFakeTime();

afterEach(() => {
  localStorage.clear();
  document.documentElement.style.fontSize = "";
});

describe("the text size", () => {
  it("scales all texts at once, and is kept for the next start", async () => {
    await open("#/settings");
    const select = screen.getByTestId<HTMLSelectElement>("setting-text-size");
    expect(select.value).toBe("normal");
    await user.selectOptions(select, "large");
    expect(document.documentElement.style.fontSize).toBe("115%");
    document.documentElement.style.fontSize = "";
    followTextSize();
    expect(document.documentElement.style.fontSize).toBe("115%");
    await user.selectOptions(select, "normal");
    expect(document.documentElement.style.fontSize).toBe("");
  });

  it("is normal if the saved one is unknown", async () => {
    localStorage.setItem("drawbridge-text-size", "huge");
    await open("#/settings");
    expect(screen.getByTestId<HTMLSelectElement>("setting-text-size").value).toBe("normal");
  });
});

describe("the switch for forms", () => {
  it("says why it could not be changed, and shows what is stored", async () => {
    const hub = await open("#/settings");
    const before = hub.settings.elicitation_forms;
    hub.failures.set("settings.change", new IpcError("internal", "The store cannot be written."));
    await user.click(screen.getByTestId("setting-forms"));
    await advanceTime(1);
    expect(screen.getByTestId("setting-forms-error").textContent).toContain("cannot be written");
    expect(screen.getByTestId<HTMLInputElement>("setting-forms").checked).toBe(before);
  });
});
