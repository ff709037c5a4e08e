import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { suspended } from "../ipc/fake/data";
import { listParams, advanceTime, user, withFakeTime } from "../test/app";
import { button, decisions, CLICK_GUARD_MS, openPopup } from "../test/popup";

withFakeTime();

const option = (key: string) =>
  [...screen.getByTestId("condition-picker").querySelectorAll<HTMLElement>("[data-key]")].find(
    (row) => row.dataset["key"] === key,
  ) as HTMLElement;

describe("an approval for longer", () => {
  it("depends on the ticked arguments, and on no other arguments", async () => {
    const hub = await openPopup((fake) => fake.addApproval());
    await user.click(button("approve-more"));
    await user.click(within(option("force")).getByRole("checkbox"));
    await user.selectOptions(within(option("path")).getByRole("combobox"), "in /home/ada/Projects");
    expect(within(option("path")).getByRole<HTMLInputElement>("checkbox").checked).toBe(true);
    await user.click(button("approve-1h"));
    expect(decisions(hub)[0]?.verdict).toEqual({
      kind: "approve_for",
      seconds: 3600,
      conditions: [
        { pointer: "/path", is: { path_within: "/home/ada/Projects" } },
        { pointer: "/force", is: { equals: true } },
      ],
    });
  });

  it("leaves the call waiting if the hub refuses it", async () => {
    const hub = await openPopup((fake) => fake.addApproval());
    await user.click(button("approve-more"));
    hub.failures.set(
      "approvals.decide",
      new IpcError("invalid", "the rule must match the call that it approves"),
    );
    await user.click(button("approve-10-calls"));
    await advanceTime(1);
    expect(screen.getByTestId("approval-error").textContent).toContain("must match the call");
    expect(hub.waiting).toHaveLength(1);
  });
});

describe("an approval for always", () => {
  async function openAlwaysStep(empty = true) {
    const hub = await openPopup(
      (fake) =>
        fake.addApproval({
          tool: "list_directory",
          arguments: '{"path":"/home/ada/Projects/drawbridge/x"}',
        }),
      empty,
    );
    await user.click(button("approve-more"));
    await user.click(button("approve-always"));
    return hub;
  }

  it("shows the rule and its past matches before it can be confirmed", async () => {
    const hub = await openAlwaysStep(false);
    expect(button("approve-always-confirm").disabled).toBe(true);
    await advanceTime(1);
    expect(screen.getByTestId("dry-run-rule").textContent).toBe(
      "allow list_directory of filesystem for claude-code",
    );
    expect(screen.getByTestId("dry-run-matched").textContent).toContain(
      "This rule would have matched 4 of 4 past calls.",
    );
    expect(
      within(screen.getByTestId("dry-run-matched")).getAllByRole("listitem")[0]?.textContent,
    ).toContain("Allowed");
    await user.click(button("approve-always-confirm"));
    expect(decisions(hub)).toEqual([]);
    await advanceTime(CLICK_GUARD_MS);
    await user.click(button("approve-always-confirm"));
    expect(decisions(hub)[0]?.verdict).toEqual({ kind: "approve_always", conditions: [] });
  });

  it("repeats the dry run when a condition changes, and approves exactly what it shows", async () => {
    const hub = await openAlwaysStep(false);
    await advanceTime(CLICK_GUARD_MS);
    await user.click(within(option("path")).getByRole("checkbox"));
    expect(button("approve-always-confirm").disabled).toBe(true);
    await advanceTime(1);
    expect(screen.getByTestId("dry-run-rule").textContent).toContain(
      'if /path is "/home/ada/Projects/drawbridge/x"',
    );
    expect(screen.getByTestId("dry-run-matched").textContent).toContain(
      "This rule would have matched 0 of 4 past calls",
    );
    await advanceTime(CLICK_GUARD_MS);
    await user.click(button("approve-always-confirm"));
    expect(decisions(hub)[0]?.verdict).toEqual({
      kind: "approve_always",
      conditions: [{ pointer: "/path", is: { equals: "/home/ada/Projects/drawbridge/x" } }],
    });
  });

  it("is not given without a dry run", async () => {
    const hub = await openPopup((fake) => fake.addApproval());
    await user.click(button("approve-more"));
    hub.failures.set("approvals.preview", new IpcError("internal", "The store cannot be read."));
    await user.click(button("approve-always"));
    await advanceTime(CLICK_GUARD_MS * 2);
    expect(screen.getByTestId("dry-run-error").textContent).toBe("The store cannot be read.");
    expect(button("approve-always-confirm").disabled).toBe(true);
    await user.click(screen.getByText("Try again"));
    await advanceTime(CLICK_GUARD_MS * 2);
    expect(button("approve-always-confirm").disabled).toBe(false);
    expect(listParams(hub, "approvals.preview")).toHaveLength(2);
  });

  it("is not given by a key before Tab was used", async () => {
    const hub = await openAlwaysStep();
    await advanceTime(CLICK_GUARD_MS * 2);
    button("approve-always-confirm").focus();
    await user.keyboard("{Enter} ");
    expect(decisions(hub)).toEqual([]);
    await user.tab();
    button("approve-always-confirm").focus();
    await user.keyboard("{Enter}");
    expect(decisions(hub)).toHaveLength(1);
  });
});

describe("a waiting call", () => {
  it("says that its client has never called the tool", async () => {
    await openPopup((hub) => hub.addApproval({ is_first: true }));
    expect(screen.getByText("New to this client")).toBeTruthy();
    expect(screen.queryByText("Changed")).toBeNull();
  });

  it("shows the suspended rule and the differences since", async () => {
    await openPopup((hub) => hub.addApproval({ suspended: suspended() }));
    expect(screen.getByTestId("changed").textContent).toContain(
      "The rule “allow browser_navigate of browser for cursor” allowed this request. Since then the tool has changed, so you are asked.",
    );
    expect(screen.getByTestId("changed-diff").getAttribute("aria-expanded")).toBe("true");
    const diff = screen.getByTestId("changed-diff-panel");
    expect(diff.querySelector('[data-field="/description"] [data-hidden="U+200B"]')).toBeTruthy();
    expect(
      diff.querySelector('[data-field="/inputSchema/properties/note"]')?.textContent,
    ).toContain("new");
  });

  it("says that an approval for longer does not resume the suspended rule", async () => {
    await openPopup((hub) => hub.addApproval({ suspended: suspended() }));
    await user.click(button("approve-more"));
    expect(screen.getByTestId("covers-changed").textContent.trim()).toBe(
      "The approval is for the tool as it is now, after the change. The rule “allow browser_navigate of browser for cursor” stays suspended.",
    );
  });

  it("of a changed tool can only be approved once", async () => {
    await openPopup((hub) => hub.addApproval({ changed: suspended().definitions }));
    expect(screen.getByTestId("changed").textContent).toContain(
      "The tool has changed since you accepted it, so you are asked. Clients still see the accepted definition.",
    );
    expect(
      screen.getByTestId("changed-diff-panel").querySelector('[data-field="/description"]'),
    ).toBeTruthy();
    expect(screen.queryByTestId("approve-more")).toBeNull();
    expect(screen.getByTestId("approve-once")).toBeTruthy();
  });

  it("whose definition is flagged can only be approved once", async () => {
    await openPopup((hub) =>
      hub.addApproval({
        suspended: suspended(),
        flags: [{ kind: "concealment", place: "/description", excerpt: "Do not tell the user" }],
      }),
    );
    expect(screen.queryByTestId("approve-more")).toBeNull();
    expect(screen.getByTestId("only-once").textContent).toBe(
      "You can approve this call only once, because the server's text is flagged.",
    );
    expect(button("approve-once").disabled).toBe(false);
  });

  it("says that its server has changed, even if no definitions can be compared", async () => {
    await openPopup((hub) =>
      hub.addApproval({
        suspended: { ...suspended(), is_server_changed: true, definitions: null },
      }),
    );
    expect(screen.getByTestId("changed").textContent).toContain(
      "Since then the server's command or URL has changed, so you are asked",
    );
    expect(screen.queryByTestId("changed-diff")).toBeNull();
  });
});
