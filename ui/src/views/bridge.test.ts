/** The requests of servers that Drawbridge answers in place of clients. */

import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import * as data from "../ipc/fake/data";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const field = (name: string) => screen.getByTestId(`form-field-${name}`);

describe("a server's request for input", () => {
  it("is a form that is checked and sent, and leaves no values behind", async () => {
    const hub = await open("#/approvals");
    hub.addApproval(data.formRequest());
    // The buttons of a new card are disabled for half a second.
    await advanceTime(600);
    const card = screen.getByTestId("approval-card");
    expect(card.textContent).toContain("travel asks you for input, for claude-code");
    expect(card.textContent).toContain("Please tell me about your trip.");
    expect(screen.getByTestId("countdown").textContent).toBe("2:00");
    expect((field("travelers") as HTMLInputElement).value).toBe("2");

    await user.click(screen.getByTestId("form-submit"));
    expect(card.textContent).toContain("Enter a value.");
    expect(document.activeElement).toBe(field("destination"));
    await user.type(field("destination"), "Bonn");
    await user.type(field("email"), "ada");
    await user.click(screen.getByTestId("form-submit"));
    expect(card.textContent).toContain("Enter an email address.");
    expect(listParams(hub, "approvals.decide")).toEqual([]);
    await user.type(field("email"), "@example.com");
    await user.selectOptions(field("class"), "1");
    await user.click(within(field("days")).getByLabelText("Friday"));
    await user.click(field("insurance"));
    await user.click(screen.getByTestId("form-submit"));
    await advanceTime(10);

    const [sent] = listParams(hub, "approvals.decide");
    expect(sent?.verdict.kind).toBe("fill_in");
    const content = sent?.verdict.kind === "fill_in" ? (sent.verdict.content ?? "") : "";
    expect(JSON.parse(content)).toEqual({
      destination: "Bonn",
      email: "ada@example.com",
      travelers: 2,
      class: "1",
      days: ["Friday"],
      insurance: true,
    });
    expect(screen.queryByTestId("approval-card")).toBeNull();
    expect(JSON.stringify(hub.calls)).not.toContain("ada@example.com");
  });

  it.each([
    ["form-decline", { kind: "deny", reason: "" }],
    ["form-dismiss", { kind: "dismiss" }],
  ])("can be answered without values: %s", async (button, verdict) => {
    const hub = await open("#/approvals");
    hub.addApproval(data.formRequest());
    await advanceTime(600);
    await user.click(screen.getByTestId(button));
    await advanceTime(10);
    expect(listParams(hub, "approvals.decide")[0]?.verdict).toEqual(verdict);
  });

  it("shows the site and the whole URL, and opens it only after a click", async () => {
    const hub = await open("#/approvals", (hub) => (hub.opensBrowser = true));
    hub.addApproval(data.urlRequest());
    await advanceTime(600);
    expect(screen.getByTestId("form-host").textContent).toBe("accounts.travel.example");
    expect(screen.getByTestId("form-url").textContent).toBe(
      "https://accounts.travel.example/connect?state=8f2c",
    );
    expect(listParams(hub, "approvals.open_url")).toEqual([]);
    await user.click(screen.getByTestId("form-open"));
    await advanceTime(10);
    expect(listParams(hub, "approvals.open_url")).toHaveLength(1);
  });

  it("offers no button for a URL that must not be opened", async () => {
    const hub = await open("#/approvals");
    const params = { mode: "url", message: "m", url: "javascript:alert(1)" };
    hub.addApproval(data.urlRequest({ arguments: JSON.stringify(params) }));
    await advanceTime(600);
    expect(screen.queryByTestId("form-open")).toBeNull();
  });
});

describe("a sampling request to the provider", () => {
  it("says which model at which host answers", async () => {
    const hub = await open("#/approvals");
    const sampling = data.bridgedRequests().find((request) => request.sampling_provider !== null);
    if (sampling) hub.addApproval(sampling);
    await advanceTime(600);
    const card = screen.getByTestId("approval-card");
    expect(card.textContent).toContain(
      "notes wants a message from gpt-5-mini at models.example.com, for claude-code",
    );
    expect(screen.getByTestId("answered-by").textContent).toContain("models.example.com");
  });
});

describe("the settings", () => {
  it("change the provider, store a key, test the provider, and show the used budget", async () => {
    const hub = await open("#/settings");
    expect(screen.getByTestId("sampling-status").textContent).toContain("On");
    expect(screen.getByTestId("sampling-today").textContent).toContain("12 of 100 requests");
    const url = screen.getByTestId("sampling-url");
    await user.clear(url);
    await user.type(url, "http://localhost:1234/v1");
    const models = screen.getByTestId("sampling-models");
    await user.clear(models);
    await user.type(models, "small, large");
    await user.type(screen.getByTestId("sampling-key"), "sk-1");
    await user.click(screen.getByTestId("sampling-save"));
    await advanceTime(10);
    expect(listParams(hub, "sampling.change")[0]).toMatchObject({
      url: "http://localhost:1234/v1",
      models: ["small", "large"],
      key: "sk-1",
      tools: null,
    });
    expect((screen.getByTestId("sampling-key") as HTMLInputElement).value).toBe("");
    await user.click(screen.getByTestId("sampling-check"));
    await advanceTime(10);
    expect(screen.getByTestId("sampling-message").textContent).toContain("small answered “OK”");
    expect(screen.getByTestId("sampling-today").textContent).toContain("13 of 100 requests");
  });

  it("list, add and remove roots, and say why a folder is refused", async () => {
    const hub = await open("#/settings");
    expect(screen.getByTestId("roots-empty")).toBeTruthy();
    await user.type(screen.getByTestId("root-folder"), "work{Enter}");
    await advanceTime(10);
    expect(screen.getByText(/A root is an absolute path/)).toBeTruthy();
    await user.clear(screen.getByTestId("root-folder"));
    await user.type(screen.getByTestId("root-folder"), "/home/ada/work{Enter}");
    await advanceTime(10);
    expect(screen.getByTestId("roots").textContent).toContain("file:///home/ada/work");
    await user.click(screen.getByTestId("root-remove"));
    await advanceTime(10);
    expect(hub.settings.roots).toEqual([]);
  });
});
