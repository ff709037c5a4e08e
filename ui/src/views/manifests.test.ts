import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { listParams, open, advanceTime, user, withFakeTime } from "../test/app";

withFakeTime();

const card = (id: string) =>
  screen
    .getAllByTestId("preset-card")
    .find((element) => element.dataset["preset"] === id) as HTMLElement;
const input = (name: string) =>
  screen
    .getAllByTestId("manifest-input")
    .find((element) => element.dataset["input"] === name) as HTMLInputElement;

async function openTab(tab: string) {
  const hub = await open("#/servers/+add");
  await user.click(screen.getByTestId(tab));
  await advanceTime(1);
  return hub;
}

describe("a preset", () => {
  it("shows whether its runtime was found, and the remedy if it was not", async () => {
    await openTab("server-find-tab");
    expect(card("filesystem").textContent).toContain("npx 10.8.2");
    expect(card("github").textContent).toContain("No prerequisites");
    expect(card("fetch").textContent).toContain("Needs uvx");
    const [missing, ...others] = screen.getAllByTestId("missing-runtime");
    expect(missing?.textContent).toMatch(
      /uvx is not in the PATH of your login shell\.\s*What to do:\s*Install uv/,
    );
    expect(others, "each runtime once").toEqual([]);
    expect(screen.getByTestId("find-add").getAttribute("aria-disabled")).toBe("true");
  });

  it("reports missing inputs, is verified, and is added as the hub fills it in", async () => {
    const hub = await openTab("server-find-tab");
    await user.click(card("filesystem"));
    await user.click(screen.getByTestId("find-add"));
    expect(screen.getByText(/Enter a value\. A folder/)).toBeTruthy();
    expect(document.activeElement).toBe(input("folder"));
    expect(listParams(hub, "servers.fill_manifest")).toEqual([]);

    await user.type(input("folder"), "/home/ada/a\n/home/ada/b");
    await user.click(screen.getByTestId("server-verify"));
    await advanceTime(1000);
    expect(screen.getByTestId("verify-result").textContent).toContain("The server works.");
    expect(listParams(hub, "servers.fill_manifest")).toEqual([
      {
        source: { preset: "filesystem" },
        choice: 0,
        name: "Filesystem",
        values: { folder: "/home/ada/a\n/home/ada/b" },
        secrets: {},
      },
    ]);

    await user.clear(screen.getByTestId("manifest-name"));
    await user.type(screen.getByTestId("manifest-name"), "notes");
    await user.click(screen.getByTestId("find-add"));
    await advanceTime(1);
    expect(listParams(hub, "servers.add")).toMatchObject([
      {
        pending: false,
        spec: {
          name: "notes",
          args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/a", "/home/ada/b"],
        },
      },
    ]);
    expect(location.hash).toBe("#/servers/notes");
  });

  it("keeps its secret out of the spec", async () => {
    const hub = await openTab("server-find-tab");
    await user.click(card("github"));
    expect(input("token").type).toBe("password");
    await user.type(input("token"), "ghp_123");
    await user.clear(screen.getByTestId("manifest-name"));
    await user.type(screen.getByTestId("manifest-name"), "gh");
    await user.click(screen.getByTestId("find-add"));
    await advanceTime(1);
    expect(listParams(hub, "servers.add")).toMatchObject([
      { spec: { headers: {} }, secrets: { headers: { token: "ghp_123" } } },
    ]);
  });

  it("stays open with the reason if the hub cannot fill it in", async () => {
    const hub = await openTab("server-find-tab");
    await user.click(card("playwright"));
    expect(
      within(input("browser"))
        .getAllByRole("option")
        .map((element) => element.textContent),
    ).toEqual(["Not set", "chrome", "firefox", "webkit", "msedge"]);
    await user.click(input("headless"));
    hub.failures.set(
      "servers.fill_manifest",
      new IpcError("invalid", "'browser' must be one of chrome, firefox."),
    );
    await user.click(screen.getByTestId("find-add"));
    await advanceTime(1);
    expect(listParams(hub, "servers.fill_manifest")).toMatchObject([
      { values: { browser: "", headless: "true" } },
    ]);
    expect(screen.getByTestId("dialog-error").textContent).toBe(
      "'browser' must be one of chrome, firefox.",
    );
    await user.click(screen.getByTestId("find-back"));
    expect(screen.getAllByTestId("preset-card")).toHaveLength(4);
  });
});

describe("a manifest", () => {
  it("is read from a path, and is added with the values of its form", async () => {
    const hub = await openTab("server-manifest-tab");
    await user.type(screen.getByTestId("manifest-text"), "/home/ada/server.json");
    await user.click(screen.getByTestId("manifest-read"));
    await advanceTime(1);
    expect(listParams(hub, "servers.read_manifest")).toEqual([
      { source: { path: "/home/ada/server.json" } },
    ]);
    await user.type(input("SHOP_KEY"), "s3cret");
    await user.selectOptions(input("region"), "us");
    await user.click(screen.getByTestId("manifest-add"));
    await advanceTime(1);
    expect(listParams(hub, "servers.fill_manifest")).toMatchObject([
      { choice: 0, values: { SHOP_KEY: "s3cret", region: "us", LIMIT: "", verbose: "" } },
    ]);
    expect(listParams(hub, "servers.add")).toMatchObject([
      { spec: { name: "Shop", env: {} }, secrets: { env: { SHOP_KEY: "s3cret" } } },
    ]);
  });

  it("whose chosen package cannot be used shows the reason, and cannot be added", async () => {
    const hub = await openTab("server-manifest-tab");
    await user.click(screen.getByTestId("manifest-text"));
    await user.paste('{"name":"io.github.ada/shop"}');
    await user.click(screen.getByTestId("manifest-read"));
    await advanceTime(1);
    await user.click(screen.getAllByTestId("manifest-choice")[1] as HTMLElement);
    expect(screen.getByTestId("manifest-problem").textContent).toContain(
      "it is an MCP bundle (.mcpb)",
    );
    await user.click(screen.getByTestId("manifest-add"));
    expect(listParams(hub, "servers.fill_manifest")).toEqual([]);
  });

  it("that cannot be read shows the reason", async () => {
    await openTab("server-manifest-tab");
    await user.type(screen.getByTestId("manifest-text"), "nonsense");
    await user.click(screen.getByTestId("manifest-read"));
    await advanceTime(1);
    expect(screen.getByTestId("dialog-error").textContent).toContain("This is not JSON");
    expect(screen.getByTestId("manifest-add").getAttribute("aria-disabled")).toBe("true");
  });

  it("survives a change of the tab", async () => {
    await openTab("server-manifest-tab");
    await user.type(screen.getByTestId("manifest-text"), "/home/ada/server.json");
    await user.click(screen.getByTestId("manifest-read"));
    await advanceTime(1);
    await user.type(input("SHOP_KEY"), "k");
    await user.click(screen.getByTestId("server-form-tab"));
    await user.click(screen.getByTestId("server-manifest-tab"));
    expect(input("SHOP_KEY").value).toBe("k");
    expect(screen.getByTestId<HTMLTextAreaElement>("manifest-text").value).toBe(
      "/home/ada/server.json",
    );
  });
});

describe("an MCP bundle", () => {
  const zip = (name: string) => new File(["PK\x03\x04"], name);

  async function choose(file: File) {
    const hub = await openTab("server-bundle-tab");
    await user.upload(screen.getByTestId("bundle-file"), file);
    await advanceTime(1);
    return hub;
  }

  it("shows its facts, asks for its values, and waits for acceptance", async () => {
    const hub = await choose(zip("notes.mcpb"));
    const shown = await screen.findByTestId("bundle");
    expect(shown.textContent).toMatch(/Notes\s+1\.2\.0\s+By\s+Ada/);
    expect(shown.textContent).toContain("search_notes");
    expect(shown.textContent).toMatch(/Needs Node\.js\s+>=20/);
    expect(screen.queryByTestId("server-verify"), "nothing is unpacked yet").toBeNull();
    await user.click(screen.getByTestId("bundle-add"));
    expect(document.activeElement).toBe(input("folder"));
    expect(listParams(hub, "bundles.add")).toEqual([]);

    await user.type(input("folder"), "/home/ada/notes");
    const limit = input("limit");
    await user.clear(limit);
    await user.type(limit, "101");
    expect(screen.getByTestId("server-dialog").textContent).toContain(
      "Enter a number: from 1 to 100.",
    );
    await user.clear(limit);
    await user.type(limit, "10");
    await user.type(input("key"), "hunter2");
    await user.click(screen.getByTestId("bundle-add"));
    await advanceTime(1);
    expect(listParams(hub, "bundles.add")).toEqual([
      {
        source: { base64: btoa("PK\x03\x04") },
        name: "Notes",
        values: { folder: "/home/ada/notes", limit: "10", key: "hunter2" },
        secrets: {},
      },
    ]);
    expect(hub.servers.find(({ id }) => id === "notes")).toMatchObject({
      acceptance: "new",
      spec: { env: { key: "${keyring:notes/key}" } },
    });
  });

  it("says why a file is refused, and adds nothing", async () => {
    await choose(new File(["no archive"], "notes.mcpb"));
    expect((await screen.findByTestId("bundle-error")).textContent).toContain(
      "this is not an MCP bundle",
    );
    expect(screen.getByTestId("bundle-add").getAttribute("aria-disabled")).toBe("true");
  });
});
