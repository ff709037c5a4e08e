import { fireEvent, screen } from "@testing-library/svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import { advanceTime, user, withFakeTime } from "../test/app";
import { button, decisions, CLICK_GUARD_MS, openPopup, mockOverflow } from "../test/popup";

withFakeTime();
afterEach(() => vi.restoreAllMocks());

const RESULT = '{"content":[{"type":"text","text":"the secret is 1.50\u200b"}]}';

describe("a result that is held", () => {
  it("is shown in full with its arguments collapsed, and offers two choices only", async () => {
    await openPopup((hub) => hub.addApproval({ result: RESULT }));
    expect(screen.getByTestId("approval-card").querySelector(".sentence")?.textContent.trim()).toBe(
      "Show the result of delete_file of filesystem to claude-code?",
    );
    expect(screen.getByTestId("result").textContent).toContain("the secret is 1.50⟨U+200B⟩");
    for (const id of ["approve-more", "approve-once", "edit", "deny", "batch-open"])
      expect(screen.queryByTestId(id)).toBeNull();
    await user.click(screen.getByTestId("held-arguments"));
    expect(screen.getByTestId("held-arguments-panel").textContent).toContain(
      "/home/ada/Projects/drawbridge/notes.txt",
    );
    await user.click(button("result-raw"));
    expect(screen.getByTestId("result").textContent).toContain('{"content":[');
  });

  it("is shown to the client", async () => {
    const hub = await openPopup((fake) => fake.addApproval({ result: RESULT }));
    await user.click(button("result-show"));
    expect(decisions(hub)).toMatchObject([{ verdict: { kind: "approve_once", arguments: null } }]);
  });

  it("is withheld with a reason", async () => {
    const hub = await openPopup((fake) => fake.addApproval({ result: RESULT }));
    await user.click(button("result-withhold"));
    await user.type(screen.getByTestId("deny-reason"), "It holds a secret.");
    await user.click(button("deny-confirm"));
    expect(decisions(hub)).toMatchObject([
      { verdict: { kind: "deny", reason: "It holds a secret." } },
    ]);
    await advanceTime(1);
    expect(hub.calls[0]).toMatchObject({ decision: "allowed", outcome: "withheld" });
  });

  it("has to be scrolled to its end, and is not shown to the client by a key", async () => {
    mockOverflow();
    const hub = await openPopup((fake) => fake.addApproval({ result: RESULT }));
    expect(button("result-show").disabled).toBe(true);
    expect(button("result-withhold").disabled).toBe(false);
    const area = screen.getByTestId("result");
    area.scrollTop = 600;
    await fireEvent.scroll(area);
    button("result-show").focus();
    await user.keyboard("{Enter} ");
    expect(decisions(hub)).toEqual([]);
  });

  it("disables its button briefly after the page becomes visible", async () => {
    await openPopup((fake) => fake.addApproval({ result: RESULT }));
    expect(button("result-show").disabled).toBe(false);
    await fireEvent(document, new Event("visibilitychange"));
    expect(button("result-show").disabled).toBe(true);
    await advanceTime(CLICK_GUARD_MS);
    expect(button("result-show").disabled).toBe(false);
  });

  it("is not batched with calls of the same tool", async () => {
    await openPopup((hub) => {
      hub.addApproval();
      hub.addApproval({ result: RESULT });
    });
    expect(screen.getByTestId("popup-position").textContent).toBe("1 of 2");
  });
});
