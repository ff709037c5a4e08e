import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

describe("browsers", () => {
  it("are listed on the settings screen and signed out", async () => {
    const hub = await open("#/settings");
    expect(screen.getByTestId("browser-row").textContent).toContain("Firefox/145.0");
    await user.click(screen.getByTestId("browser-sign-out"));
    await advanceTime(1);
    expect(listParams(hub, "browsers.sign_out")).toEqual([{ id: "b1" }]);
    expect(screen.getByTestId("browsers-empty")).toBeTruthy();
  });

  it("sign in with a typed code, and learn why a link did not work", async () => {
    const codes: string[] = [];
    await open("", (hub) => {
      hub.browser = {
        id: null,
        linkError: "this sign-in link was used already",
        signIn: (code) => {
          codes.push(code);
          return Promise.reject(new IpcError("forbidden", "this code is wrong"));
        },
      };
      hub.failures.set("approvals.list", new IpcError("signed_out", ""));
    });
    expect(screen.getByRole("alert").textContent).toContain("was used already");
    await user.type(screen.getByTestId("sign-in-code"), "abcde-fghij");
    await user.click(screen.getByTestId("sign-in"));
    await advanceTime(1);
    expect(codes).toEqual(["abcde-fghij"]);
    expect(screen.getByRole("alert").textContent).toContain("this code is wrong");
  });
});
