import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import type { FakeHub } from "../ipc/fake";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const cards = () =>
  screen.queryAllByTestId("published-card").map((card) => card.dataset["server"] ?? "");
const card = (name: string) =>
  screen
    .getAllByTestId("published-card")
    .find((element) => element.dataset["server"] === name) as HTMLElement;

async function openFind(change: (hub: FakeHub) => void = () => undefined) {
  const hub = await open("#/servers/+add", change);
  await advanceTime(10);
  return hub;
}

async function search(text: string) {
  await user.clear(screen.getByTestId("find-text"));
  if (text) await user.type(screen.getByTestId("find-text"), text);
  await advanceTime(300);
}

describe("the official registry", () => {
  it("is asked for its list only when a person loads the list", async () => {
    const hub = await openFind();
    expect(screen.getByTestId("registry-offer").textContent).toContain(
      "registry.modelcontextprotocol.io",
    );
    expect(listParams(hub, "registry.refresh")).toEqual([]);
    expect(cards()).toEqual([]);
    expect(screen.getAllByTestId("preset-card").length).toBeGreaterThan(2);

    await user.click(screen.getByTestId("registry-load"));
    await advanceTime(100);
    expect(screen.getByTestId("registry-loading")).toBeTruthy();
    await advanceTime(2000);
    expect(listParams(hub, "registry.refresh")).toEqual([{ force: true }]);
    expect(cards()).toHaveLength(30);
    expect(screen.getByTestId("registry-total").textContent).toBe("43 servers");
    expect(screen.getByTestId("registry-age").textContent).toContain("Refreshed just now.");
    expect(screen.getByTestId("registry-age").textContent).toContain("2 entries cannot be used.");
    await user.click(screen.getByTestId("registry-more"));
    await advanceTime(10);
    expect(new Set(cards()).size).toBe(43);
    expect(screen.queryByTestId("registry-more")).toBeNull();
  });

  it("is refreshed when the tab opens and the copy is old", async () => {
    const hub = await openFind((hub) => hub.registry.fill(3 * 86_400_000));
    expect(cards()).toHaveLength(30);
    expect(listParams(hub, "registry.refresh")).toEqual([{ force: false }]);
    await advanceTime(2000);
    expect(screen.getByTestId("registry-age").textContent).toContain("Refreshed just now.");
  });

  it("is searched together with the presets, and filtered", async () => {
    await openFind((hub) => hub.registry.fill(0));
    await search("jira");
    expect(cards()).toEqual(["com.atlassian/jira"]);
    expect(screen.queryAllByTestId("preset-card")).toEqual([]);
    expect(card("com.atlassian/jira").textContent).toContain("Needs a key");

    await user.click(screen.getByTestId("find-without-key"));
    await advanceTime(10);
    expect(screen.getByTestId("registry-nothing")).toBeTruthy();
    await user.click(screen.getByTestId("find-without-key"));
    await search("");
    await user.selectOptions(screen.getByTestId("find-kind"), "PyPI");
    await advanceTime(10);
    expect(cards()).toEqual(["io.github.ada/postgres"]);
    expect(screen.getAllByTestId("preset-card").map((found) => found.dataset["preset"])).toEqual([
      "fetch",
    ]);
  });

  it("keeps the copy if it cannot be reached, and says why", async () => {
    await openFind((hub) => {
      hub.registry.fill(2 * 3_600_000);
      hub.registry.failure = "There is no connection.";
    });
    await user.click(screen.getByTestId("registry-refresh"));
    await advanceTime(2000);
    expect(screen.getByTestId("registry-error").textContent).toContain("There is no connection.");
    expect(screen.getByTestId("registry-age").textContent).toContain("Refreshed 2 h ago.");
    expect(cards()).toHaveLength(30);
  });

  it("can be turned off", async () => {
    await openFind((hub) => {
      hub.registry.fill(0);
      hub.settings.official_registry_url = "";
    });
    expect(screen.getByTestId("registry-off")).toBeTruthy();
    expect(cards()).toEqual([]);
    expect(screen.getAllByTestId("preset-card").length).toBeGreaterThan(2);
  });
});

describe("a published server", () => {
  it("shows its publisher and its inputs, and waits for acceptance", async () => {
    const hub = await openFind((hub) => hub.registry.fill(0));
    await user.click(card("com.atlassian/jira"));
    await advanceTime(10);
    const facts = screen.getByTestId("published-server").textContent;
    expect(facts).toContain("com.atlassian");
    expect(facts).toContain("2.1.0");
    const source = screen.getByRole("link", { name: "https://github.com/atlassian/jira-mcp" });
    expect(source.getAttribute("rel")).toBe("noopener noreferrer");
    expect(screen.getByTestId("manifest-preview").textContent).toBe(
      "npx -y @atlassian/jira-mcp@2.1.0 --site <site>",
    );

    await user.click(screen.getByTestId("find-add"));
    expect(listParams(hub, "servers.add")).toEqual([]);
    const [token, site] = screen.getAllByTestId<HTMLInputElement>("manifest-input");
    expect(token?.type).toBe("password");
    await user.type(token as HTMLElement, "hunter2");
    await user.type(site as HTMLElement, "x.example");
    await user.click(screen.getByTestId("find-add"));
    await advanceTime(10);
    expect(listParams(hub, "servers.fill_manifest")).toMatchObject([
      { source: { published: "com.atlassian/jira" }, choice: 0, name: "Jira" },
    ]);
    expect(listParams(hub, "servers.add")).toMatchObject([
      { pending: true, spec: { name: "Jira" }, secrets: { env: { JIRA_TOKEN: "hunter2" } } },
    ]);
    expect(location.hash).toBe("#/servers/jira");
  });

  it("offers each way to run it, and says which runtime is missing", async () => {
    await openFind((hub) => hub.registry.fill(0));
    await user.click(card("com.atlassian/jira"));
    await advanceTime(10);
    const choices = screen.getAllByTestId("manifest-choice");
    expect(choices).toHaveLength(2);
    await user.click(choices[1] as HTMLElement);
    expect(screen.getByTestId("manifest-preview").textContent).toBe(
      "https://mcp.atlassian.com/v1/mcp",
    );
    await user.click(screen.getByTestId("find-back"));
    await user.click(card("io.github.ada/postgres"));
    await advanceTime(10);
    expect(screen.getByText(/uvx is not in the PATH/)).toBeTruthy();
    expect(screen.getByTestId("published-server").querySelector("[data-hidden]")).toBeTruthy();
  });

  it("stays in the list if the hub cannot show it", async () => {
    const hub = await openFind((hub) => hub.registry.fill(0));
    hub.failures.set("registry.show", new IpcError("not_found", "There is no such server."));
    await user.click(card("com.atlassian/jira"));
    await advanceTime(10);
    expect(screen.getByTestId("dialog-error").textContent).toBe("There is no such server.");
    expect(cards()).toHaveLength(30);
  });
});
