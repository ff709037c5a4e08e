import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { asked, open, pass, user, withFakeTime } from "../test/app";
import { openPopup } from "../test/popup";

withFakeTime();

describe("the drawbridge", () => {
  it("is raised by one switch, says so over every screen, and is lowered again", async () => {
    const hub = await open("#/servers", (one) => one.ask());
    expect(screen.queryByTestId("raised-banner")).toBeNull();
    await user.click(screen.getByTestId("raise"));
    await pass(1);
    expect(screen.getByTestId("raised-banner").textContent).toContain("All calls are paused.");
    expect(screen.getByTestId<HTMLInputElement>("raise").checked).toBe(true);
    expect(hub.waiting).toEqual([]);
    expect(hub.calls[0]?.decision).toBe("raised");
    await user.click(screen.getByTestId("lower"));
    await pass(1);
    expect(screen.queryByTestId("raised-banner")).toBeNull();
    expect(asked(hub, "drawbridge.lower")).toHaveLength(1);
  });

  it("is shown as it stands, also where the tray moved it", async () => {
    const hub = await open("#/logs", (one) => (one.raised = true));
    expect(screen.getByTestId("raised-banner")).toBeTruthy();
    hub.emit({ kind: "drawbridge_changed", raised: false });
    await pass(1);
    expect(screen.queryByTestId("raised-banner")).toBeNull();
    expect(screen.getByTestId<HTMLInputElement>("raise").checked).toBe(false);
  });

  it("says why it could not be moved", async () => {
    const hub = await open("#/approvals", (one) => (one.raised = true));
    hub.failures.set("drawbridge.lower", new IpcError("internal", "The store cannot be written."));
    await user.click(screen.getByTestId("lower"));
    await pass(1);
    expect(screen.getByTestId("raised-banner").textContent).toContain(
      "The store cannot be written.",
    );
  });

  it("is told in the popup too, also where that may not ask", async () => {
    const hub = await openPopup((one) =>
      one.failures.set("drawbridge.show", new IpcError("forbidden", "not allowed")),
    );
    expect(screen.queryByTestId("raised-banner")).toBeNull();
    hub.emit({ kind: "drawbridge_changed", raised: true });
    await pass(1);
    expect(screen.getByTestId("raised-banner").textContent).toContain(
      "Lower it in the main window",
    );
  });
});

describe("calls that were missed", () => {
  it("are let through once more only when they come again, within their time", async () => {
    const hub = await open("#/approvals", (one) =>
      one.ask({ timeout_ms: 5000, tool: "write_file" }),
    );
    expect(screen.queryByTestId("missed")).toBeNull();
    await pass(5001);
    const [missed] = hub.missed;
    expect(screen.getByTestId("missed").textContent).toContain(
      "You missed these calls, so they were denied",
    );
    expect(screen.getByTestId("missed-row").textContent).toContain("120 s");
    await pass(10_000);
    expect(screen.getByTestId("missed-row").textContent).toContain("110 s");
    await user.click(screen.getByTestId("allow-retry"));
    await pass(1);
    expect(asked(hub, "approvals.allow_retry")).toEqual([
      { id: missed?.id, digest: missed?.digest },
    ]);
    expect(screen.queryByTestId("missed-row")).toBeNull();
    expect(screen.getByTestId("missed").textContent).toContain(
      "If claude-code sends the same call of write_file again within 109 s",
    );
  });

  it("go when their time is over", async () => {
    await open("#/approvals", (one) => one.ask({ timeout_ms: 5000 }));
    await pass(5001);
    expect(screen.getByTestId("missed-row")).toBeTruthy();
    await pass(120_001);
    expect(screen.queryByTestId("missed")).toBeNull();
  });

  it("say why a retry could not be allowed", async () => {
    const hub = await open("#/approvals", (one) => one.ask({ timeout_ms: 5000 }));
    await pass(5001);
    hub.failures.set(
      "approvals.allow_retry",
      new IpcError("not_found", "It is not remembered any more."),
    );
    await user.click(screen.getByTestId("allow-retry"));
    await pass(1);
    expect(screen.getByTestId("missed-error").textContent).toBe("It is not remembered any more.");
  });
});

describe("a call in full", () => {
  it("leads to its rule, and says that its arguments were changed", async () => {
    await open("#/activity", (hub) =>
      Object.assign(hub.calls[0] ?? {}, {
        id: "edited",
        at: Date.now() + 1,
        rule: "rule-1",
        is_edited: true,
      }),
    );
    await user.click(screen.getAllByTestId("call-row")[0] as HTMLElement);
    expect(screen.getByTestId("call-rule").getAttribute("href")).toBe("#/rules/rule-1");
    expect(screen.getByTestId("call-edited").textContent).toBe(
      "The arguments were changed by you.",
    );
  });
});
