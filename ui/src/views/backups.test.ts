import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { advanceTime, open, user, withFakeTime } from "../test/app";

withFakeTime();

async function click(testid: string): Promise<void> {
  await user.click(screen.getByTestId(testid));
  await advanceTime(1);
}

describe("backups", () => {
  it("are made, and restored at the next start after a question", async () => {
    const hub = await open("#/settings");
    await click("backup-create");
    const created = screen.getByTestId("backup-created").textContent ?? "";
    const file = /\/\S+\.zip/.exec(created)?.[0] ?? "";
    expect(file).toContain("drawbridge-1.zip");
    await user.type(screen.getByTestId("backup-file"), file);
    await click("backup-restore");
    expect(hub.backups.prepared).toBe("");
    expect(screen.getByTestId("confirm-dialog").textContent).toContain("revoked");
    await click("confirm");
    expect(hub.backups.prepared).toBe("restore");
    expect(screen.getByTestId("replacement-prepared").textContent).toContain("start it again");
    await click("replacement-cancel");
    expect(hub.backups.prepared).toBe("");
    expect(screen.queryByTestId("replacement-prepared")).toBeNull();
  });

  it("say why an archive cannot be restored", async () => {
    await open("#/settings");
    await user.type(screen.getByTestId("backup-file"), "/tmp/holiday.zip");
    await click("backup-restore");
    expect(screen.getByTestId("backup-error").textContent).toContain("/tmp/holiday.zip");
    expect(screen.queryByTestId("confirm-dialog")).toBeNull();
  });
});

describe("a reset", () => {
  it("needs a choice and a typed word", async () => {
    const hub = await open("#/settings");
    await click("backup-reset");
    await user.type(screen.getByTestId("reset-word"), "reset");
    await click("confirm");
    expect(screen.getByTestId("dialog-error").textContent).toContain("what to reset");
    await click("reset-part-rules");
    await click("reset-part-records");
    await user.clear(screen.getByTestId("reset-word"));
    await click("confirm");
    expect(screen.getByTestId("dialog-error").textContent).toContain("“reset”");
    expect(hub.backups.prepared).toBe("");
    await user.type(screen.getByTestId("reset-word"), "reset");
    await click("confirm");
    expect(hub.backups.prepared).toBe("reset");
    expect(hub.backups.resetParts.toSorted()).toEqual(["records", "rules"]);
    expect(screen.getByTestId("replacement-prepared")).toBeTruthy();
  });

  it("deletes everything, or only the secrets at once", async () => {
    const hub = await open("#/settings");
    await click("backup-reset");
    await click("reset-part-secrets");
    await user.type(screen.getByTestId("reset-word"), "reset");
    await click("confirm");
    expect(hub.backups.prepared).toBe("");
    expect(hub.secrets.list().every((secret) => secret.present === false)).toBe(true);
    await click("backup-reset");
    await click("reset-everything");
    await user.type(screen.getByTestId("reset-word"), "reset");
    await click("confirm");
    expect(hub.backups.resetParts).toHaveLength(7);
  });
});
