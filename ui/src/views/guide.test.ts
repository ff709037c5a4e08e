import { screen, within } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import type { FakeHub } from "../ipc/fake";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();
afterEach(() => localStorage.clear());

/** Removes all decided calls, so that the guide is needed. */
function withoutCalls(hub: FakeHub): void {
  hub.calls = [];
}

function withoutServers(hub: FakeHub): void {
  withoutCalls(hub);
  hub.servers = [];
}

function step(id: string): HTMLElement {
  return screen
    .getAllByTestId("guide-step")
    .find((element) => element.dataset.step === id) as HTMLElement;
}

async function click(testid: string, inside: HTMLElement = document.body) {
  await user.click(within(inside).getByTestId(testid));
  await advanceTime(1);
}

describe("the guide", () => {
  it("has the steps from the first server to the first approved call", async () => {
    await open("", (hub) => {
      withoutServers(hub);
      hub.clients = [];
      hub.clientFiles.kinds = hub.clientFiles.kinds.map((kind) => ({
        ...kind,
        files: kind.files.map((file) => ({ ...file, entry: null, managed: null })),
      }));
    });
    const headings = within(screen.getByTestId("guide")).getAllByRole("heading", { level: 3 });
    expect(headings.map((heading) => heading.textContent)).toEqual([
      "Add your servers",
      "Connect a client",
      "Approve the first call",
    ]);
    expect(step("servers").getAttribute("aria-current")).toBe("step");
    expect(step("servers").textContent).toContain("found in the files of 3 clients");
    expect(screen.queryByTestId("guide-connect")).toBeNull();
  });

  it("connects a client, with the changes shown first", async () => {
    await open("", (hub) => {
      withoutCalls(hub);
      hub.clients = [];
      hub.clientFiles.kinds = hub.clientFiles.kinds
        .filter((kind) => kind.id === "cursor")
        .map((kind) => ({ ...kind, files: kind.files.slice(0, 1) }));
    });
    expect(step("servers").className).toContain("done");
    await click("guide-connect");
    expect(screen.getByTestId("file-diff").textContent).toContain("drawbridge");
    await click("connect-apply");
    await click("connect-done");
    expect(step("clients").className).toContain("done");
    expect(step("call").getAttribute("aria-current")).toBe("step");
  });

  it("calls a tool through the client's own entry, and shows the answer", async () => {
    const hub = await open("", (hub) => {
      withoutCalls(hub);
      hub.clientFiles.tryTool = () => {
        hub.addApproval();
        return new Promise((resolve) =>
          setTimeout(() => {
            resolve({ text: "12 files", is_error: false, duration_ms: 3000 });
          }, 3000),
        );
      };
    });
    expect(step("call").textContent).toContain("Ask Claude Code to use the tool");
    await click("try-call");
    expect(screen.getByTestId("try-running").textContent).toContain("Look at the approval card");
    expect(screen.getAllByTestId("approval-card").length).toBeGreaterThan(0);
    await advanceTime(3000);
    expect(screen.getByTestId("try-result").textContent).toContain("12 files");
    expect(listParams(hub, "config.try_tool")[0]).toMatchObject({
      kind: "claude-code",
      path: "/home/ada/.claude.json",
    });
  });

  it("asks for the arguments that a tool requires", async () => {
    const hub = await open("", withoutCalls);
    const tool = hub.servers
      .flatMap((server) => server.tools)
      .find(({ name }) => name === "read_text_file");
    await user.selectOptions(screen.getByTestId("try-tool"), tool?.exposed_name ?? "");
    await advanceTime(1);
    const field = screen.getByTestId<HTMLTextAreaElement>("try-arguments");
    expect(JSON.parse(field.value)).toEqual({ path: "" });
    await user.clear(field);
    await user.type(field, "not JSON");
    await click("try-call");
    expect(listParams(hub, "config.try_tool")).toEqual([]);
    await user.clear(field);
    await user.type(field, '{{"path": "/tmp/a"}');
    await click("try-call");
    expect(listParams(hub, "config.try_tool")[0]).toMatchObject({
      tool: "read_text_file",
      arguments: { path: "/tmp/a" },
    });
  });

  it("says why a call did not succeed", async () => {
    await open("", (hub) => {
      withoutCalls(hub);
      hub.clientFiles.tryTool = () => ({
        text: "The user denied this call.",
        is_error: true,
        duration_ms: 10,
      });
    });
    await click("try-call");
    expect(screen.getByTestId("try-failed").textContent).toContain("denied this call");
  });

  it("offers a preset whose prerequisites are installed if no client has a server", async () => {
    await open("", (hub) => {
      withoutServers(hub);
      hub.imports.found = [];
      hub.imports.unreadable = [];
    });
    expect(step("servers").textContent).toContain("No servers were found");
    await click("guide-preset");
    await click("find-add");
    expect(step("servers").className).toContain("done");
    await click("guide-show", step("servers"));
    expect(step("servers").textContent).toContain("1 server added");
  });

  it("says if none of the found servers can be imported", async () => {
    await open("", (hub) => {
      withoutServers(hub);
      hub.imports.found = hub.imports.found.filter((server) => server.problem);
    });
    expect(step("servers").textContent).toContain("No servers can be imported");
    expect(screen.queryByTestId("guide-import")).toBeNull();
  });

  it("says if the search for servers failed, and still offers a preset", async () => {
    await open("", (hub) => {
      withoutServers(hub);
      hub.imports.find = () => {
        throw new Error("The files cannot be read.");
      };
    });
    expect(step("servers").textContent).toContain("could not be searched");
    expect(screen.getByTestId("guide-preset")).toBeTruthy();
  });

  it("skips steps, shows them again, is closed, and is opened again in the settings", async () => {
    await open("", withoutServers);
    await click("guide-skip", step("servers"));
    expect(step("servers").textContent).toContain("Skipped");
    await click("guide-show", step("servers"));
    expect(within(step("servers")).getByTestId("guide-add-server")).toBeTruthy();
    await click("guide-close");
    expect(screen.queryByTestId("guide")).toBeNull();
    location.hash = "#/settings";
    await advanceTime(1);
    await click("guide-open");
    await advanceTime(1);
    expect(screen.getByTestId("guide")).toBeTruthy();
  });

  it("is not shown if a person has already approved a call", async () => {
    await open("");
    expect(screen.queryByTestId("guide")).toBeNull();
  });
});
