import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { advanceTime, open, user, withFakeTime } from "../test/app";

withFakeTime();

const listed = () => screen.queryAllByTestId("client-row").map((row) => row.dataset["client"]);

describe("the list of clients", () => {
  it("keeps revoked clients out of sight until they are asked for", async () => {
    await open("#/clients");
    expect(listed()).not.toContain("old-laptop");
    await user.click(screen.getByTestId("clients-revoked"));
    await advanceTime(1);
    const panel = screen.getByTestId("clients-revoked-panel");
    expect(within(panel).getByTestId("client-row").textContent).toContain("old-laptop");
  });
});
