import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError, type ApprovalRequest } from "../ipc";
import { listParams, open, advanceTime, user, withFakeTime } from "../test/app";
import { openPopup } from "../test/popup";

withFakeTime();

describe("a pause of all calls", () => {
  it("is set by one switch, is shown on every screen, and is ended by one button", async () => {
    const hub = await open("#/servers", (fake) => fake.addApproval());
    expect(screen.queryByTestId("paused-banner")).toBeNull();
    await user.click(screen.getByTestId("pause-calls"));
    await advanceTime(1);
    expect(screen.getByTestId("paused-banner").textContent).toContain("All calls are paused.");
    expect(screen.getByTestId<HTMLInputElement>("pause-calls").checked).toBe(true);
    expect(hub.waiting).toEqual([]);
    expect(hub.calls[0]?.decision).toBe("paused");
    await user.click(screen.getByTestId("resume-calls"));
    await advanceTime(1);
    expect(screen.queryByTestId("paused-banner")).toBeNull();
    expect(listParams(hub, "drawbridge.resume")).toHaveLength(1);
  });

  it("is shown as the hub reports it, also after a change in the tray", async () => {
    const hub = await open("#/logs", (fake) => (fake.paused = true));
    expect(screen.getByTestId("paused-banner")).toBeTruthy();
    hub.emit({ kind: "drawbridge_changed", paused: false, resumes_at: null });
    await advanceTime(1);
    expect(screen.queryByTestId("paused-banner")).toBeNull();
    expect(screen.getByTestId<HTMLInputElement>("pause-calls").checked).toBe(false);
  });

  it("ends by itself at the time that a person chose", async () => {
    const hub = await open("#/calls", (fake) => (fake.paused = true));
    await user.click(screen.getByTestId("pause-quarter-hour"));
    await advanceTime(1);
    expect(listParams(hub, "drawbridge.pause")).toEqual([{ for_s: 900 }]);
    expect(screen.getByTestId("paused-banner").textContent).toMatch(
      /All calls are paused until \d\d:\d\d:\d\d \(15 min left\)\./,
    );
    await user.click(screen.getByTestId("pause-no-end"));
    await advanceTime(900_000);
    expect(screen.getByTestId("paused-banner").textContent).toContain("All calls are paused.");
    await user.click(screen.getByTestId("pause-hour"));
    await advanceTime(3_600_001);
    expect(screen.queryByTestId("paused-banner")).toBeNull();
  });

  it("shows why it could not be ended", async () => {
    const hub = await open("#/approvals", (fake) => (fake.paused = true));
    hub.failures.set("drawbridge.resume", new IpcError("internal", "The store cannot be written."));
    await user.click(screen.getByTestId("resume-calls"));
    await advanceTime(1);
    expect(screen.getByTestId("paused-banner").textContent).toContain(
      "The store cannot be written.",
    );
  });

  it("is shown in the popup too, even if the popup may not read it", async () => {
    const hub = await openPopup((fake) =>
      fake.failures.set("drawbridge.show", new IpcError("forbidden", "not allowed")),
    );
    expect(screen.queryByTestId("paused-banner")).toBeNull();
    hub.emit({ kind: "drawbridge_changed", paused: true, resumes_at: null });
    await advanceTime(1);
    expect(screen.getByTestId("paused-banner").textContent).toContain(
      "Resume calls in the main window",
    );
  });
});

describe("missed calls", () => {
  const openMissed = (part: Partial<ApprovalRequest> = {}) =>
    open("#/approvals/missed", (hub) => {
      hub.calls = [];
      hub.addApproval({ timeout_ms: 5000, ...part });
    });

  it("can be allowed for a retry in time", async () => {
    const hub = await openMissed({ tool: "write_file" });
    expect(screen.getByTestId("missed-empty").textContent).toContain("No missed calls.");
    await advanceTime(5001);
    const [missed] = hub.missed;
    expect(screen.getByTestId("missed").textContent).toContain(
      "You missed these requests, so they were denied",
    );
    expect(screen.getByTestId("missed-row").textContent).toContain("2:00");
    await advanceTime(10_000);
    expect(screen.getByTestId("missed-row").textContent).toContain("1:50");
    await user.click(screen.getByTestId("allow-retry"));
    await advanceTime(1);
    expect(listParams(hub, "approvals.allow_retry")).toEqual([
      { id: missed?.id, digest: missed?.digest },
    ]);
    expect(screen.queryByTestId("missed-row")).toBeNull();
    expect(screen.getByTestId("missed").textContent).toContain(
      "If claude-code sends the same call of write_file again within 109 s",
    );
  });

  it("are counted at the tab and in the sidebar until a retry can no longer be allowed", async () => {
    const hub = await openMissed();
    expect(screen.queryByTestId("nav-missed")).toBeNull();
    await advanceTime(5001);
    expect(screen.getByTestId("missed-row")).toBeTruthy();
    expect(screen.getByTestId("approvals-tab-missed").textContent).toBe("Missed (1)");
    expect(screen.getByTestId("nav-missed").textContent).toBe("1 missed");
    await advanceTime(120_001);
    expect(screen.queryByTestId("missed-row")).toBeNull();
    expect(screen.queryByTestId("nav-missed")).toBeNull();
    expect(screen.getByTestId("approvals-tab-missed").textContent).toBe("Missed");
    const earlier = within(screen.getByTestId("missed-earlier"));
    expect(earlier.getByTestId("decided-call").getAttribute("href")).toBe(
      `#/calls/${hub.calls[0]?.id}`,
    );
  });

  it("say why a retry could not be allowed", async () => {
    const hub = await openMissed();
    await advanceTime(5001);
    hub.failures.set(
      "approvals.allow_retry",
      new IpcError("not_found", "This call can no longer be retried."),
    );
    await user.click(screen.getByTestId("allow-retry"));
    await advanceTime(1);
    expect(screen.getByTestId("missed-error").textContent).toBe(
      "This call can no longer be retried.",
    );
  });
});

describe("the details of a call", () => {
  it("link to its rule, and say that its arguments were edited", async () => {
    await open("#/calls", (hub) =>
      Object.assign(hub.calls[0] ?? {}, {
        id: "edited",
        at: Date.now() + 1,
        rule: "rule-1",
        is_edited: true,
      }),
    );
    await user.click(screen.getAllByTestId("call-row")[0] as HTMLElement);
    expect(screen.getByTestId("call-rule").getAttribute("href")).toBe("#/policy/rule-1");
    expect(screen.getByTestId("call-edited").textContent).toBe("You changed the arguments.");
  });
});
