import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const listed = () => screen.queryAllByTestId("client-row").map((row) => row.dataset["client"]);

describe("the list of clients", () => {
  it("hides revoked clients until a person shows them", async () => {
    await open("#/clients");
    expect(listed()).not.toContain("old-laptop");
    await user.click(screen.getByTestId("clients-revoked"));
    await advanceTime(1);
    const panel = screen.getByTestId("clients-revoked-panel");
    expect(within(panel).getByTestId("client-row").textContent).toContain("old-laptop");
  });
});

describe("a client's token", () => {
  it("is replaced, and the new token is shown", async () => {
    const hub = await open("#/clients");
    await user.click(screen.getByRole("button", { name: "New token for claude-code" }));
    // 90 days, in seconds.
    await user.selectOptions(screen.getByTestId("rotate-for"), "7776000");
    await user.click(screen.getByTestId("rotate-token"));
    await advanceTime(1);
    expect(listParams(hub, "clients.rotate")).toEqual([
      { name: "claude-code", token: null, lifetime_s: 7_776_000 },
    ]);
    expect(screen.getByTestId("rotated-token").textContent).toContain("db_7rotated");
  });
});
