import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const capability = (name: string) =>
  screen
    .getAllByTestId("capability-row")
    .find((row) => row.dataset["name"]?.includes(name)) as HTMLElement;

async function openTool(name: string) {
  const row = screen
    .getAllByTestId("tool-row")
    .find((element) => element.dataset["tool"] === name) as HTMLElement;
  await user.click(within(row).getByTestId("tool-toggle"));
  await advanceTime(1);
  await user.click(within(row).getByTestId("tool-call"));
  return within(within(row).getByTestId("call-form"));
}

describe("the tabs of a server's page", () => {
  it("are in the URL, and count what the server lists", async () => {
    await open("#/servers/filesystem");
    await advanceTime(1);
    expect(screen.getByTestId("server-tab-prompts").textContent).toBe("Prompts 1");
    expect(screen.getByTestId("server-tab-resources").textContent).toBe("Resources 2");
    await user.click(screen.getByTestId("server-tab-details"));
    await advanceTime(1);
    expect(location.hash).toBe("#/servers/filesystem/details");
    expect(screen.getByTestId("server-transitions")).toBeTruthy();
  });

  it("say that the lists cannot be read", async () => {
    await open("#/servers/filesystem/prompts", (hub) =>
      hub.failures.set("servers.capabilities", new IpcError("internal", "The disk is full.")),
    );
    expect(screen.getByTestId("capabilities-error").textContent).toContain("The disk is full.");
  });
});

describe("the schema of a tool's arguments", () => {
  it("is loaded when the tool is opened, and again when its definition has changed", async () => {
    const hub = await open("#/servers/filesystem");
    expect(listParams(hub, "tools.schema")).toEqual([]);
    const form = await openTool("write_file");
    expect(listParams(hub, "tools.schema")).toEqual([{ server: "filesystem", name: "write_file" }]);
    await user.type(form.getByLabelText(/^path/), "/tmp/a");
    hub.emit({ kind: "server_changed", id: "filesystem" });
    await advanceTime(500);
    expect(listParams(hub, "tools.schema")).toHaveLength(1);
    hub.servers = hub.servers.map((server) => ({
      ...server,
      tools: server.tools.map((tool) => ({ ...tool, digest: `${tool.digest}0` })),
    }));
    hub.emit({ kind: "server_changed", id: "filesystem" });
    await advanceTime(500);
    expect(listParams(hub, "tools.schema")).toHaveLength(2);
    expect(form.getByLabelText<HTMLInputElement>(/^path/).value).toBe("/tmp/a");
  });

  it("can be missing, and the tool's row then says why", async () => {
    await open("#/servers/filesystem", (hub) =>
      hub.failures.set("tools.schema", new IpcError("not_found", "The tool is gone.")),
    );
    await user.click(screen.getAllByTestId("tool-toggle")[0] as HTMLElement);
    await advanceTime(1);
    expect(screen.getByTestId("tool-schema-error").textContent).toBe("The tool is gone.");
    expect(screen.queryByTestId("tool-call")).toBeNull();
  });
});

describe("a request by hand", () => {
  it("is made from the fields of the schema, and its result is shown by type", async () => {
    const hub = await open("#/servers/filesystem");
    const form = await openTool("write_file");
    await user.click(form.getByTestId("call-send"));
    expect(form.getByText("Enter a value for path.")).toBeTruthy();
    expect(listParams(hub, "tools.call")).toEqual([]);
    await user.type(form.getByLabelText(/^path/), "/tmp/a");
    await user.type(form.getByLabelText(/^content/), "hello");
    await user.click(form.getByTestId("call-send"));
    await advanceTime(1);
    expect(listParams(hub, "tools.call")).toMatchObject([
      { name: "filesystem__write_file", arguments: { path: "/tmp/a", content: "hello" } },
    ]);
    const kinds = form.getAllByTestId("result-block").map((block) => block.dataset["kind"]);
    expect(kinds).toEqual(["text", "json", "image", "link", "text"]);
  });

  it("can be written as JSON, and shows why it was refused", async () => {
    const hub = await open("#/servers/filesystem");
    const form = await openTool("write_file");
    await user.click(form.getByTestId("call-switch"));
    await user.clear(form.getByTestId("call-json"));
    await user.click(form.getByTestId("call-json"));
    await user.paste(`{"path":"/x","content":""}`);
    hub.failures.set("tools.call", new IpcError("invalid", "A rule denies this call."));
    await user.click(form.getByTestId("call-send"));
    await advanceTime(1);
    expect(form.getByTestId("call-error").textContent).toBe("A rule denies this call.");
    expect(listParams(hub, "tools.call")).toMatchObject([
      { arguments: { path: "/x", content: "" } },
    ]);
  });

  it("gets a prompt, and reads a resource of a template", async () => {
    const hub = await open("#/servers/filesystem/prompts");
    await user.click(within(capability("summarize")).getByTestId("capability-toggle"));
    await user.type(within(capability("summarize")).getByLabelText(/^path/), "src");
    await user.click(within(capability("summarize")).getByTestId("call-send"));
    await advanceTime(1);
    expect(listParams(hub, "prompts.get")).toEqual([
      { name: "filesystem__summarize_folder", arguments: { path: "src" } },
    ]);
    await user.click(screen.getByTestId("server-tab-resources"));
    await advanceTime(1);
    await user.click(within(capability("{path}")).getByTestId("capability-toggle"));
    await user.type(within(capability("{path}")).getByLabelText(/^path/), "a b.txt");
    await user.click(within(capability("{path}")).getByTestId("call-send"));
    await advanceTime(1);
    expect(listParams(hub, "resources.read")).toEqual([
      { uri: "file:///home/ada/Projects/a%20b.txt" },
    ]);
  });
});

describe("the policy for a kind of request", () => {
  it("applies to all prompts of the server", async () => {
    const hub = await open("#/servers/filesystem/prompts");
    await user.selectOptions(screen.getByTestId("kind-policy"), "ask");
    await advanceTime(1);
    expect(listParams(hub, "policy.set")).toMatchObject([
      { server: "filesystem", tool: null, kind: "prompts", effect: "ask" },
    ]);
  });
});

describe("the spec as JSON", () => {
  it("is saved after a check, and shows a fault at its place", async () => {
    const hub = await open("#/servers/filesystem/spec");
    const text = screen.getByTestId<HTMLTextAreaElement>("spec-text");
    expect(text.value).toContain("server-filesystem");
    await user.clear(text);
    await user.click(text);
    await user.paste(`{\n  "command" "x"\n}`);
    await advanceTime(500);
    expect(screen.getByTestId("spec-fault").textContent).toContain("Line 2, column 3");
    expect(screen.getByTestId("spec-save").getAttribute("aria-disabled")).toBe("true");
    await user.clear(text);
    await user.click(text);
    await user.paste(`{"name": "filesystem", "command": "uvx"}`);
    await advanceTime(500);
    await user.click(screen.getByTestId("spec-save"));
    await advanceTime(1);
    expect(listParams(hub, "servers.update")).toMatchObject([
      { id: "filesystem", spec: { command: "uvx" } },
    ]);
  });
});

describe("the preflight check", () => {
  it("lists its findings, and what to do", async () => {
    await open("#/servers/browser/checks");
    const checks = screen.getAllByTestId("preflight-check");
    const failed = checks.find((check) => check.dataset["status"] === "failure");
    expect(failed?.textContent).toContain("has changed since you accepted it");
    expect(failed?.querySelector("code")?.textContent).toBe("drawbridge servers accept browser");
    expect(screen.getByTestId("preflight-summary").textContent).toBe("1 check failed.");
  });
});

describe("a failed verification", () => {
  it("names the cause first, and shows what the server printed", async () => {
    const hub = await open("#/servers/filesystem");
    const server = hub.servers.find(({ id }) => id === "filesystem");
    if (server) server.spec.command = "ends-at-once";
    await user.click(screen.getByTestId("server-check"));
    await advanceTime(1000);
    const error = screen.getByTestId("server-error");
    expect(error.textContent.trim()).toMatch(/^The server printed “npm error 404 Not Found/);
    expect(screen.getByTestId("failure-output").textContent).toContain("npm error code E404");
  });
});
