import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import type { FakeHub } from "../ipc/fake";
import { FakeDesktop } from "../ipc/fake/desktop";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const hashOf = (query: string) => `#/servers?add=${encodeURIComponent(query)}`;

async function openLink(query: string) {
  return open(hashOf(query));
}

function field(testid: string): HTMLInputElement {
  return screen.getByTestId<HTMLInputElement>(testid);
}

describe("a link that asks to add a server", () => {
  it("only fills in the form, and says where it came from", async () => {
    const hub = await openLink("name=Notes&command=npx&arg=-y&arg=notes server&env=NOTES_KEY");
    const text = screen.getByTestId("server-link").textContent;
    expect(text).toContain("A link filled in this form");
    expect(text).toContain("notes server");
    expect(field("server-name").value).toBe("Notes");
    expect(field("server-command").value).toContain("npx -y");
    expect(field("env-key").value).toBe("NOTES_KEY");
    await advanceTime(60_000);
    expect(listParams(hub, "servers.add")).toEqual([]);
    expect(listParams(hub, "servers.verify_spec")).toEqual([]);
  });

  it("can open while the window shows another page", async () => {
    const hub = await open("#/calls");
    location.hash = hashOf("name=Docs&url=https://docs.example.com/mcp");
    await advanceTime(1);
    expect(field("server-url").value).toBe("https://docs.example.com/mcp");
    await user.click(screen.getByTestId("server-save"));
    await advanceTime(1);
    expect(listParams(hub, "servers.add")).toHaveLength(1);
    expect(screen.queryByTestId("server-link")).toBeNull();
  });

  it.each([
    ["name=A", "either a command or a URL"],
    ["name=A&command=a&url=https://a.example", "either a command or a URL"],
    ["name=A&url=javascript:alert(1)", "http:// or https://"],
    ["name=A&command=a&cwd=/", "cwd"],
    ["name=A&name=B&command=a", "twice"],
    ["name=A&command=a%E2%80%AEb", "hidden"],
    ["name=A&command=a&env=B%3D1", "variable"],
    [`name=A&command=${"x".repeat(9000)}`, "too long"],
  ])("%s is refused with the reason: %s", async (query, reason) => {
    await openLink(query);
    expect(screen.getByTestId("link-refused").textContent).toContain(reason);
    expect(screen.queryByTestId("server-dialog")).toBeNull();
    await user.click(screen.getByTestId("link-close"));
    await advanceTime(1);
    expect(screen.queryByTestId("link-refused")).toBeNull();
  });
});

describe("a bundle that the app was asked to open", () => {
  const hashOfBundle = (path: string) => `#/servers?bundle=${encodeURIComponent(path)}`;
  const inApp = (hub: FakeHub) => (hub.desktop = new FakeDesktop());

  it("is shown with its form, and nothing is added", async () => {
    const hub = await open(hashOfBundle("/home/ada/a b&c.mcpb"), inApp);
    expect(screen.getByTestId("bundle").textContent).toContain("Reads and writes the notes");
    expect(screen.getByTestId("bundle-path").textContent).toContain("/home/ada/a b&c.mcpb");
    expect(listParams(hub, "bundles.open")).toEqual([{ source: { path: "/home/ada/a b&c.mcpb" } }]);
    await advanceTime(60_000);
    expect(listParams(hub, "bundles.add")).toEqual([]);
    // Another tab does not open the file again, so that entered values stay.
    await user.click(screen.getByTestId("server-paste-tab"));
    await user.click(screen.getByTestId("server-bundle-tab"));
    expect(listParams(hub, "bundles.open")).toHaveLength(1);
  });

  it("can open while the window shows another page", async () => {
    await open("#/calls", inApp);
    location.hash = hashOfBundle("/home/ada/notes.mcpb");
    await advanceTime(1);
    expect(screen.getByTestId("bundle-path").textContent).toContain("/home/ada/notes.mcpb");
  });

  it("says why a file cannot be opened, and opens it again on request", async () => {
    const hub = await open(hashOfBundle("/home/ada/notes.txt"), inApp);
    expect(screen.getByTestId("bundle-error").textContent).toContain("this is not an MCP bundle");
    expect(screen.getByTestId("bundle-add").getAttribute("aria-disabled")).toBe("true");
    await user.click(screen.getByTestId("bundle-retry"));
    await advanceTime(1);
    expect(listParams(hub, "bundles.open")).toHaveLength(2);
    await user.upload(screen.getByTestId("bundle-file"), new File(["PK\x03\x04"], "notes.mcpb"));
    await advanceTime(1);
    expect(await screen.findByTestId("bundle")).toBeTruthy();
    expect(screen.queryByTestId("bundle-path")).toBeNull();
  });

  it("is ignored in a browser, because any page could send a browser to this address", async () => {
    const hub = await open(hashOfBundle("/home/ada/notes.mcpb"));
    expect(listParams(hub, "bundles.open")).toEqual([]);
    expect(screen.queryByTestId("server-dialog")).toBeNull();
  });
});
