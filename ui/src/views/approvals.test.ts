import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { follow, open, user, withFakeTime } from "../test/app";

withFakeTime();

describe("the tabs of the Approvals screen", () => {
  const selected = () =>
    screen.getAllByRole("tab").find((tab) => tab.getAttribute("aria-selected") === "true")
      ?.textContent;

  it("are kept in the URL", async () => {
    await open("#/approvals", (hub) => hub.addApproval());
    expect(selected()).toBe("Pending (1)");
    await user.click(screen.getByTestId("approvals-tab-decided"));
    expect(location.hash).toBe("#/approvals/decided");
    await follow("#/approvals/missed");
    expect(selected()).toBe("Missed");
    expect(screen.queryByTestId("approval-card")).toBeNull();
    await user.click(screen.getByTestId("approvals-tab-pending"));
    expect(location.hash).toBe("#/approvals");
    await follow("#/approvals");
    expect(screen.getByTestId("approval-card")).toBeTruthy();
  });

  it("show pending calls for an unknown tab", async () => {
    await open("#/approvals/later");
    expect(selected()).toBe("Pending");
  });

  it("list calls that nobody decided apart from those that a person decided", async () => {
    await open("#/approvals/decided", (hub) => {
      const [first] = hub.calls;
      if (first)
        hub.calls = [
          { ...first, id: "b", tool: "late_tool", decision: "timed_out", decided_by: "hub" },
          { ...first, id: "a", tool: "good_tool", decision: "allowed", decided_by: "person" },
        ];
    });
    expect(screen.getAllByTestId("decided-call").map((call) => call.textContent)).toEqual([
      "good_tool of filesystem",
    ]);
    await follow("#/approvals/missed");
    expect(screen.getAllByTestId("decided-call").map((call) => call.textContent)).toEqual([
      "late_tool of filesystem",
    ]);
  });
});
