import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const row = (name: string) =>
  screen.getAllByTestId("secret-row").find((found) => found.dataset.secret === name) ?? null;
const textOf = (name: string) => row(name)?.textContent?.replace(/\s+/g, " ") ?? "";

describe("the secrets", () => {
  it("are listed with who uses them and whether they have a value", async () => {
    await open("#/settings");
    expect(textOf("github.Authorization")).toContain("server github");
    expect(textOf("github.Authorization")).toContain("In the keyring");
    expect(textOf("hook:4f1c.TOKEN")).toContain("hook call-log");
    expect(textOf("weather.API_KEY")).toContain("Missing");
  });

  it("get a value, which is not shown", async () => {
    const hub = await open("#/settings");
    await user.click(screen.getByRole("button", { name: "Set the value of weather.API_KEY" }));
    const field = screen.getByTestId<HTMLInputElement>("secret-value");
    expect(field.type).toBe("password");
    await user.type(field, "s3cret{Enter}");
    await advanceTime(1);
    expect(listParams(hub, "secrets.set")).toEqual([{ name: "weather.API_KEY", value: "s3cret" }]);
    expect(screen.queryByTestId("secret-dialog")).toBeNull();
    expect(textOf("weather.API_KEY")).toContain("In the keyring");
  });

  it("are removed after a question that names who needs them", async () => {
    const hub = await open("#/settings");
    await user.click(screen.getByRole("button", { name: "Remove github.Authorization" }));
    const dialog = within(screen.getByTestId("confirm-dialog"));
    expect(dialog.getByText(/used by server github/)).toBeTruthy();
    await user.click(dialog.getByRole("button", { name: "Remove secret" }));
    await advanceTime(1);
    expect(listParams(hub, "secrets.remove")).toEqual([
      { name: "github.Authorization", in_use: true },
    ]);
    expect(textOf("github.Authorization")).toContain("Missing");
  });
});
