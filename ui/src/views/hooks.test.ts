import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const row = (name: string) =>
  screen
    .getAllByTestId("hook-row")
    .find((element) => element.dataset["hook"] === name) as HTMLElement;
const names = () => screen.getAllByTestId("hook-row").map((element) => element.dataset["hook"]);

describe("the list of hooks", () => {
  it("shows their order, their last run and their failures", async () => {
    await open("#/hooks");
    expect(names()).toEqual(["no-deletes", "mask-tokens", "call-log"]);
    const last = within(row("mask-tokens")).getByTestId("hook-last");
    expect(last.textContent).toContain("Failed");
    expect(last.textContent).toContain("it did not answer within 5 s");
    expect(within(row("mask-tokens")).getByTestId("hook-failures").textContent.trim()).toBe(
      "1 of 2 runs failed",
    );
  });

  it("moves a hook up or down, but not past the ends of the list", async () => {
    const hub = await open("#/hooks");
    const isDisabled = (name: string, button: string) =>
      within(row(name)).getByTestId(button).getAttribute("aria-disabled") === "true";
    expect(isDisabled("no-deletes", "hook-up")).toBe(true);
    expect(isDisabled("no-deletes", "hook-down")).toBe(false);
    expect(isDisabled("call-log", "hook-down")).toBe(true);
    await user.click(within(row("call-log")).getByTestId("hook-up"));
    await advanceTime(1);
    expect(listParams(hub, "hooks.reorder")).toEqual([{ name: "call-log", position: 1 }]);
    expect(names()).toEqual(["no-deletes", "call-log", "mask-tokens"]);
  });

  it("disables a hook, and says why if the hub refuses", async () => {
    const hub = await open("#/hooks");
    await user.click(within(row("call-log")).getByTestId("hook-enabled"));
    await advanceTime(1);
    expect(listParams(hub, "hooks.disable")).toEqual([{ name: "call-log" }]);
    hub.failures.set("hooks.enable", new IpcError("not_found", "there is no hook 'call-log'"));
    await user.click(within(row("call-log")).getByTestId("hook-enabled"));
    await advanceTime(1);
    expect(screen.getByTestId("hooks-error").textContent).toContain("there is no hook");
  });

  it("shows the runs of a hook", async () => {
    await open("#/hooks");
    await user.click(within(row("no-deletes")).getByTestId("hook-log"));
    await advanceTime(1);
    expect(screen.getByTestId("hook-run").textContent).toContain("nothing is deleted on weekdays");
  });

  it("says that there are no hooks", async () => {
    const hub = await open("#/hooks", (fake) => {
      fake.hooks = [];
    });
    expect(screen.getByTestId("hooks-empty").textContent).toContain("No hooks yet");
    expect(hub.hooks).toEqual([]);
  });
});

describe("a hook", () => {
  it("is added, with its secret values in a separate field", async () => {
    const hub = await open("#/hooks");
    await user.click(screen.getByTestId("hook-new"));
    await advanceTime(1);
    await user.click(screen.getByTestId("hook-save"));
    expect(screen.getByText(/Enter a name/)).toBeTruthy();
    await user.type(screen.getByTestId("hook-name"), "audit");
    await user.click(screen.getByTestId("hook-webhook"));
    await user.type(screen.getByTestId("hook-url"), "https://example.com/hook");
    await user.type(screen.getByTestId("hook-parts"), "!Authorization=Bearer x");
    await user.click(screen.getByTestId("hook-save"));
    await advanceTime(1);
    const [added] = listParams(hub, "hooks.add");
    expect(added?.secret_values).toEqual({ Authorization: "Bearer x" });
    expect(added?.hook).toMatchObject({
      name: "audit",
      events: ["tool_executed"],
      mode: "observe",
      target: { kind: "webhook", url: "https://example.com/hook", headers: {} },
    });
    expect(screen.queryByTestId("hook-dialog")).toBeNull();
    expect(names()).toContain("audit");
  });

  it("is tried before it is saved, and shows its effect", async () => {
    const hub = await open("#/hooks");
    await user.click(within(row("no-deletes")).getByTestId("hook-edit"));
    await advanceTime(1);
    await user.click(screen.getByTestId("hook-trial"));
    await advanceTime(1);
    expect(screen.getByTestId<HTMLTextAreaElement>("hook-trial-payload").value).toContain("echo");
    await user.click(screen.getByTestId("hook-trial-run"));
    await advanceTime(1);
    expect(listParams(hub, "hooks.try")[0]?.event).toBe("tool_requested");
    const outcome = screen.getByTestId("hook-trial-outcome").textContent;
    expect(outcome).toContain("Denied the call in 42 ms");
    expect(outcome).toContain("nothing is deleted on weekdays");
    expect(screen.getByTestId("hook-trial-output").textContent).toContain("deny");
    expect(screen.getByTestId("hook-trial-input").textContent).toContain("tool_requested");
    expect(listParams(hub, "hooks.edit")).toEqual([]);
  });

  it("that blocks cannot run on events of servers", async () => {
    await open("#/hooks");
    await user.click(within(row("no-deletes")).getByTestId("hook-edit"));
    await user.click(screen.getByTestId("hook-event-server_connected"));
    await user.click(screen.getByTestId("hook-save"));
    expect(screen.getByText(/never waits/)).toBeTruthy();
  });

  it("is disabled at once, and removed unless a person undoes the removal", async () => {
    const hub = await open("#/hooks");
    const remove = async () => {
      await user.click(within(row("call-log")).getByTestId("hook-remove"));
      await advanceTime(1);
    };
    await remove();
    expect(listParams(hub, "hooks.disable")).toEqual([{ name: "call-log" }]);
    await user.click(screen.getByTestId("removal-undo"));
    await advanceTime(20_000);
    expect(listParams(hub, "hooks.enable")).toEqual([{ name: "call-log" }]);
    expect(listParams(hub, "hooks.remove")).toEqual([]);
    await remove();
    expect(document.querySelector('[data-hook="call-log"]')).toBeNull();
    await user.click(screen.getByTestId("removal-now"));
    await advanceTime(1);
    expect(listParams(hub, "hooks.remove")).toEqual([{ name: "call-log" }]);
  });
});

describe("a change by a hook", () => {
  it("is shown to the person who decides", async () => {
    const hub = await open("#/approvals");
    hub.addApproval({ id: "hooked", request_hooks: ["redirect"] });
    await advanceTime(1);
    expect(screen.getByTestId("approval-hooks").textContent).toContain(
      "The hook redirect changed the arguments",
    );
  });
});
