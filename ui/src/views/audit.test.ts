import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const rowCount = () => screen.getByRole("table").getAttribute("aria-rowcount");
const kinds = () => screen.queryAllByTestId("audit-row").map((row) => row.dataset.kind);

describe("the audit log", () => {
  it("lists the changes, with their details", async () => {
    await open("#/audit");
    expect(kinds()).toHaveLength(9);
    const row = screen.getAllByTestId("audit-row")[2] as HTMLElement;
    expect(row.textContent).toContain("Server changed");
    expect(row.textContent).toContain("server: filesystem, by another program, fields: args");
    await user.click(within(row).getByRole("button"));
    expect(screen.getByTestId("audit-detail").textContent).toContain("5f0c".repeat(16));
  });

  it("is searched by kind in the hub, and by text among the entries that were read", async () => {
    const hub = await open("#/audit");
    await user.selectOptions(screen.getByTestId("audit-kind"), "secret_set");
    await advanceTime(1);
    expect(listParams(hub, "audit.list").at(-1)?.kind).toBe("secret_set");
    expect(kinds()).toEqual(["secret_set"]);
    await user.selectOptions(screen.getByTestId("audit-kind"), "");
    await user.type(screen.getByTestId("audit-text"), "GITHUB");
    await advanceTime(1);
    expect(kinds()).toEqual(["policy_changed", "secret_set", "server_accepted"]);
    await user.type(screen.getByTestId("audit-text"), " nothing");
    expect(screen.getByText(/No entry matches/)).toBeTruthy();
  });

  it("reads older entries on request", async () => {
    const hub = await open("#/audit", (fake) => {
      const [first] = fake.audit;
      if (!first) throw new Error("the fake has entries");
      fake.audit = Array.from({ length: 501 }, (_, index) => ({ ...first, seq: 501 - index }));
    });
    // The count includes the header.
    expect(rowCount()).toBe("501");
    expect(kinds().length).toBeLessThan(100);
    expect(screen.getByText("500 of the newest 500 entries")).toBeTruthy();
    await user.type(screen.getByTestId("audit-text"), "github");
    await advanceTime(1);
    expect(screen.getByText(/Show older entries, or change a filter/)).toBeTruthy();
    await user.clear(screen.getByTestId("audit-text"));
    await user.click(screen.getByTestId("audit-older"));
    await advanceTime(1);
    expect(listParams(hub, "audit.list").at(-1)?.before).toBe(2);
    expect(rowCount()).toBe("502");
    expect(screen.queryByTestId("audit-older")).toBeNull();
  });

  it("moves with the keyboard through rows that are not in the page yet", async () => {
    await open("#/audit", (fake) => {
      const [first] = fake.audit;
      if (!first) throw new Error("the fake has entries");
      fake.audit = Array.from({ length: 300 }, (_, index) => ({ ...first, seq: 300 - index }));
    });
    const focused = () => document.activeElement?.closest("tr")?.getAttribute("aria-rowindex");
    const [first] = screen.getAllByTestId("audit-row");
    within(first as HTMLElement)
      .getByRole("button")
      .focus();
    await user.keyboard("{ArrowDown}");
    expect(focused()).toBe("3");
    await user.keyboard("{End}");
    expect(focused()).toBe("301");
    await user.keyboard("{ArrowUp}");
    expect(focused()).toBe("300");
    await user.keyboard("{Home}");
    expect(focused()).toBe("2");
  });

  it("is verified, and says what is damaged", async () => {
    const hub = await open("#/audit");
    await user.click(screen.getByTestId("audit-verify"));
    await advanceTime(1);
    expect(screen.getByTestId("audit-report").textContent).toMatch(/entries verified/);
    hub.brokenAudit = { seq: 7, reason: "the call was changed" };
    await user.click(screen.getByTestId("audit-verify"));
    await advanceTime(1);
    expect(screen.getByTestId("audit-report").textContent).toBe(
      "Entry 7 is not as Drawbridge wrote it: the call was changed",
    );
  });

  it("says why it cannot be read, and shows no entries of another kind", async () => {
    const hub = await open("#/audit");
    hub.failures.set("audit.list", new IpcError("unavailable", "the disk is full"));
    await user.selectOptions(screen.getByTestId("audit-kind"), "secret_set");
    await advanceTime(1);
    expect(screen.getByTestId("audit-error").textContent).toBe("the disk is full");
    expect(kinds()).toEqual([]);
    await user.click(screen.getByTestId("audit-refresh"));
    await advanceTime(1);
    expect(screen.queryByTestId("audit-error")).toBeNull();
    expect(kinds()).toEqual(["secret_set"]);
  });

  it("says that it is being read", async () => {
    await open("#/audit", (fake) => {
      fake.call = () => new Promise(() => undefined);
    });
    expect(screen.getByTestId("audit-loading").textContent).toContain("Reading the audit log");
  });
});
