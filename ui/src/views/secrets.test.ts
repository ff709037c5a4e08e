import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const row = (name: string) =>
  screen.getAllByTestId("secret-row").find((found) => found.dataset.secret === name) ?? null;
const textOf = (name: string) => row(name)?.textContent?.replace(/\s+/g, " ") ?? "";

describe("the secrets", () => {
  it("are listed with their users, and whether they have a value", async () => {
    await open("#/settings");
    expect(textOf("github.Authorization")).toContain("server github");
    expect(textOf("github.Authorization")).toContain("Stored");
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
    expect(textOf("weather.API_KEY")).toContain("Stored");
  });

  it("are removed after a question that names their users", async () => {
    const hub = await open("#/settings");
    await user.click(screen.getByRole("button", { name: "Remove github.Authorization" }));
    const dialog = within(screen.getByTestId("confirm-dialog"));
    expect(dialog.getByText(/used by server github/)).toBeTruthy();
    await user.click(dialog.getByRole("button", { name: "Remove secret" }));
    await advanceTime(1);
    expect(listParams(hub, "secrets.remove")).toEqual([
      { name: "github.Authorization", even_if_used: true },
    ]);
    expect(textOf("github.Authorization")).toContain("Missing");
  });

  it("move to an encrypted file, which the screen then names", async () => {
    const hub = await open("#/settings");
    expect(screen.getByTestId("secret-store").textContent).toContain("in the keyring");
    await user.click(screen.getByTestId("secret-store-change"));
    await user.type(screen.getByTestId("secret-store-key-file"), "/etc/drawbridge.key");
    await user.click(screen.getByTestId("secret-store-move"));
    await advanceTime(1);
    expect(listParams(hub, "secrets.use_store")).toEqual([
      { kind: "file", key_file: "/etc/drawbridge.key" },
    ]);
    expect(screen.getByText("2 secrets moved.")).toBeTruthy();
    await user.click(screen.getByTestId("secret-store-done"));
    expect(screen.getByTestId("secret-store").textContent).toContain("secrets.json");
  });

  it("stay where they are if a passphrase is not repeated", async () => {
    const hub = await open("#/settings");
    await user.click(screen.getByTestId("secret-store-change"));
    await user.click(screen.getByLabelText(/opened with a passphrase/));
    await user.type(screen.getByTestId("secret-store-passphrase"), "correct horse");
    await user.type(screen.getByTestId("secret-store-repeat"), "battery staple{Enter}");
    expect(screen.getByText("The two passphrases differ.")).toBeTruthy();
    expect(listParams(hub, "secrets.use_store")).toEqual([]);
  });

  it("are unlocked with the passphrase of the file", async () => {
    const hub = await open("#/settings", (fake) => {
      fake.settings.secret_store = {
        kind: "file",
        status: "locked",
        file: "/data/secrets.json",
        problem: "The encrypted file of the secrets is locked",
        remedy: "Type the passphrase.",
        needs_passphrase: true,
      };
    });
    expect(screen.getByTestId("secret-store-problem").textContent).toContain("is locked");
    await user.click(screen.getByTestId("secret-store-unlock"));
    await user.type(screen.getByTestId("unlock-passphrase"), "correct horse{Enter}");
    await advanceTime(1);
    expect(listParams(hub, "secrets.unlock")).toEqual([{ passphrase: "correct horse" }]);
    expect(screen.queryByTestId("secret-store-problem")).toBeNull();
  });
});
