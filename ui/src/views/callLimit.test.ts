/** The limit of a client's calls, on the Clients screen. */

import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const button = () => {
  const rows = screen.getAllByTestId("client-row");
  const row = rows.find((element) => element.dataset.client === "cursor") as HTMLElement;
  return within(row).getByTestId("client-limit");
};

async function save(calls: string) {
  await user.click(button());
  const field = screen.getByTestId("limit-calls");
  await user.clear(field);
  if (calls) await user.type(field, calls);
  await user.click(screen.getByTestId("limit-save"));
  await advanceTime(1);
}

describe("the limit of a client's calls", () => {
  it("is off at first, and a person sets and removes it", async () => {
    const hub = await open("#/clients");
    expect(button().textContent.trim()).toBe("No limit");
    await save("60");
    expect(button().textContent.trim()).toBe("60 calls a minute");
    expect(screen.queryByTestId("limit-dialog")).toBeNull();
    await save("");
    expect(button().textContent.trim()).toBe("No limit");
    expect(listParams(hub, "clients.limit")).toEqual([
      { name: "cursor", calls_per_minute: 60 },
      { name: "cursor", calls_per_minute: null },
    ]);
  });

  it.each(["0", "1.5", "-1", "many", "4294967296"])("cannot be %s", async (calls) => {
    const hub = await open("#/clients");
    await save(calls);
    expect(screen.getByTestId("limit-dialog").textContent).toContain("at least 1");
    expect(listParams(hub, "clients.limit")).toEqual([]);
  });
});
