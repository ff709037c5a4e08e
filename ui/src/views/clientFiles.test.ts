import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

function client(id: string): HTMLElement {
  return screen
    .getAllByTestId("known-client")
    .find((element) => element.dataset.kind === id) as HTMLElement;
}

async function click(testid: string, container: HTMLElement = document.body) {
  await user.click(within(container).getByTestId(testid));
  await advanceTime(1);
}

describe("connecting a client", () => {
  it("shows the changes first, makes them, tests the entry, and undoes them", async () => {
    const hub = await open("#/clients");
    expect(client("cursor").textContent).toContain("Not connected");
    await click("client-connect", client("cursor"));
    expect(screen.getByTestId("file-diff").textContent).toContain('"drawbridge"');
    expect(screen.getByTestId("connect-notes").textContent).toContain("Auto-run");
    expect(listParams(hub, "config.apply")).toEqual([]);

    await click("connect-apply");
    expect(screen.getByTestId("connect-dialog").textContent).toContain("Cursor is connected");
    expect(screen.getByTestId("entry-test-ok").textContent).toContain("7 tools");
    expect(document.activeElement).toBe(screen.getByTestId("connect-result"));
    expect(client("cursor").textContent).toContain("Connected");

    await click("connect-undo");
    expect(screen.getByTestId("undone").textContent).toContain("same content as before");
    expect(client("cursor").textContent).toContain("Not connected");
  });

  it("offers to let only Drawbridge ask, and previews again if that is switched off", async () => {
    const hub = await open("#/clients", (hub) => {
      hub.clientFiles.kinds = hub.clientFiles.kinds.map((kind) => ({
        ...kind,
        files: kind.files.map((file) => ({
          ...file,
          state: "not_connected",
          entry: null,
          managed: null,
        })),
      }));
    });
    await click("client-connect", client("claude-code"));
    expect(screen.getByTestId("file-diff").textContent).toContain("permissions.allow");
    await click("connect-ask-once");
    expect(screen.getByTestId("file-diff").textContent).not.toContain("permissions.allow");
    await click("connect-restores");
    await click("connect-apply");
    expect(listParams(hub, "config.apply").at(-1)?.restores).toBe(true);
    expect(listParams(hub, "config.preview").at(-1)).toMatchObject({
      ask_once: false,
      transport: "bridge",
      path: "/home/ada/.claude.json",
    });
  });

  it("works for a project's file and by URL", async () => {
    const hub = await open("#/clients");
    await click("client-connect", client("cursor"));
    await user.selectOptions(screen.getByTestId("connect-where"), "In one project…");
    await click("connect-apply");
    expect(listParams(hub, "config.apply")).toEqual([]);
    expect(screen.getByText("Enter the folder of the project first.")).toBeTruthy();
    await user.type(screen.getByTestId("connect-project"), "/home/ada/src");
    await user.selectOptions(screen.getByTestId("connect-transport"), "By URL");
    await advanceTime(1);
    await click("connect-apply");
    expect(listParams(hub, "config.preview").at(-1)).toMatchObject({
      project: "/home/ada/src",
      path: null,
      transport: "http",
    });
    expect(screen.getByTestId("connect-result")).toBeTruthy();
  });

  it("writes nothing if the file has changed since, and shows the changes again", async () => {
    const hub = await open("#/clients");
    await click("client-connect", client("cursor"));
    hub.failures.set(
      "config.apply",
      new IpcError("conflict", "/home/ada/.cursor/mcp.json has changed since the preview"),
    );
    await click("connect-apply");
    expect(screen.getByTestId("dialog-error").textContent).toContain("changed since the preview");
    expect(screen.getByTestId("file-diff")).toBeTruthy();
    await click("connect-apply");
    expect(screen.getByTestId("connect-result")).toBeTruthy();
  });

  it("says why a file cannot be changed", async () => {
    const hub = await open("#/clients");
    hub.failures.set(
      "config.preview",
      new IpcError("conflict", "/home/ada/.cursor/mcp.json: line 3: expected a comma"),
    );
    await click("client-connect", client("cursor"));
    expect(screen.getByTestId("dialog-error").textContent).toContain("expected a comma");
    await click("connect-apply");
    expect(listParams(hub, "config.apply")).toEqual([]);
    await click("connect-preview-again");
    expect(screen.getByTestId("file-diff")).toBeTruthy();
  });
});

describe("a connected client", () => {
  it("is tested as the client would use it, with the reason of a failure", async () => {
    const hub = await open("#/clients");
    await click("client-test", client("claude-code"));
    expect(screen.getByTestId("entry-test-ok").textContent).toContain("7 tools");
    hub.clientFiles.testProblem = "drawbridge was not found in PATH; repair the entry";
    await click("client-test", client("claude-code"));
    const failed = screen.getByTestId("entry-test-failed");
    expect(failed.textContent).toContain("repair the entry");
    expect(failed.textContent).toContain("drawbridge stdio --client claude-code");
  });

  it("is disconnected after the changes were shown", async () => {
    await open("#/clients");
    await click("client-disconnect", client("claude-code"));
    expect(screen.getByTestId("file-diff").textContent).toContain("-");
    await click("connect-apply");
    expect(screen.getByTestId("connect-dialog").textContent).toContain("is disconnected");
    expect(client("claude-code").textContent).toContain("Not connected");
  });

  it("has its entry restored if the person says so", async () => {
    const hub = await open("#/clients");
    await click("client-restores", client("claude-code"));
    expect(listParams(hub, "config.set_restores")).toEqual([
      { path: "/home/ada/.claude.json", restores: true },
    ]);
  });
});

describe("an entry that contains a token", () => {
  it("is repaired with a new token, and is not restored by itself", async () => {
    const hub = await open("#/clients", (hub) => {
      hub.clientFiles.kinds = hub.clientFiles.kinds.map((kind) => ({
        ...kind,
        files: kind.files.map((file) => ({
          ...file,
          managed: file.managed && { ...file.managed, transport: "http", restores: true },
        })),
      }));
    });
    const codex = within(client("codex"));
    expect(codex.queryByTestId("client-restores")).toBeNull();
    expect(codex.getByTestId("client-restore-impossible").textContent).toContain(
      "does not store the token",
    );
    await click("client-repair", client("codex"));
    const dialog = screen.getByTestId("connect-dialog");
    expect(dialog.textContent).toContain("The file gets a new token");
    expect(dialog.textContent).toContain("does not store the token");
    expect(screen.queryByTestId("connect-restores")).toBeNull();
    await click("connect-apply");
    expect(listParams(hub, "config.preview").at(-1)).toMatchObject({
      kind: "codex",
      transport: "http",
    });
    expect(listParams(hub, "config.apply")).toEqual([{ id: "preview-1", restores: false }]);
    expect(client("codex").textContent).toContain("Connected");
  });

  it("can be restored once the client connects without a token", async () => {
    const hub = await open("#/clients");
    await click("client-connect", client("cursor"));
    await click("connect-restores");
    await user.selectOptions(screen.getByTestId("connect-transport"), "By URL");
    await advanceTime(1);
    expect(screen.queryByTestId("connect-restores")).toBeNull();
    await user.selectOptions(screen.getByTestId("connect-transport"), "bridge");
    await advanceTime(1);
    await click("connect-apply");
    expect(listParams(hub, "config.apply").at(-1)?.restores).toBe(true);
  });
});

it("a further project of a connected client is connected", async () => {
  const hub = await open("#/clients");
  await click("client-connect-project", client("claude-code"));
  await user.type(screen.getByTestId("connect-project"), "/src/shop");
  await advanceTime(1);
  await click("connect-apply");
  expect(listParams(hub, "config.preview").at(-1)?.project).toBe("/src/shop");
  expect(client("claude-code").textContent).toContain("/src/shop/.mcp.json");
});

describe("a file that another program has changed", () => {
  it("comes first, is counted in the sidebar, and is repaired", async () => {
    await open("#/clients");
    expect(screen.getAllByTestId("known-client")[0]?.dataset.kind).toBe("codex");
    expect(screen.getByTestId("nav-clients").textContent).toContain("1 file needs attention");
    expect(screen.getByTestId("files-need-attention").textContent).toContain(
      "changed by another program",
    );
    expect(client("codex").textContent).toContain("Removed by another program");
    await click("client-repair", client("codex"));
    await click("connect-apply");
    expect(client("codex").textContent).toContain("Connected");
    expect(screen.queryByTestId("files-need-attention")).toBeNull();
  });
});

describe("the configuration to paste", () => {
  it("is shown with its link and notes, and contains no token", async () => {
    await open("#/clients");
    await click("client-configuration", client("cursor"));
    expect(screen.getByTestId("snippet").textContent).toContain('"--client"');
    expect(screen.getByTestId<HTMLAnchorElement>("install-link").href).toContain("cursor://");
    expect(screen.getByTestId("snippet-dialog").textContent).toContain("Auto-run");
  });

  it("is offered for a client without a file", async () => {
    await open("#/clients");
    expect(client("warp").textContent).toContain("Paste the configuration");
    expect(within(client("warp")).queryByTestId("client-connect")).toBeNull();
  });
});

describe("the changes of clients' files", () => {
  it("are listed and undone", async () => {
    const hub = await open("#/clients");
    expect(screen.queryByTestId("client-changes")).toBeNull();
    await click("client-connect", client("cursor"));
    await click("connect-apply");
    await click("connect-done");
    const row = screen.getByTestId("client-change");
    expect(row.textContent).toContain("Cursor");
    expect(row.textContent).toContain("/home/ada/.cursor/mcp.json");
    await click("client-change-undo");
    await click("confirm");
    expect(listParams(hub, "config.undo")).toEqual([{ change: "change-1", kind: null }]);
    expect(screen.getByTestId("undone").textContent).toContain("same content");
    expect(screen.queryByTestId("client-change-undo")).toBeNull();
  });
});

it("clients that were not found are listed on request", async () => {
  await open("#/clients");
  expect(client("zed")).toBeUndefined();
  await click("other-clients");
  expect(client("zed").textContent).toContain("Not found here");
  await click("client-connect", client("zed"));
  expect(screen.queryByTestId("connect-transport")).toBeNull();
  expect(screen.getByTestId("connect-dialog").textContent).toContain("new file");
});

describe("the notes about a client", () => {
  it("say that it gave up on calls, ignores changes, or has not connected yet", async () => {
    await open("#/clients", (hub) => {
      hub.clients = hub.clients.map((view) => ({
        ...view,
        last_seen_at: view.name === "claude-code" ? null : view.last_seen_at,
        abandoned_calls: view.name === "cursor" ? 2 : 0,
        longest_wait_ms: view.name === "cursor" ? 60_000 : 0,
        ignores_tool_changes: view.name === "lm-studio",
      }));
    });
    expect(screen.getByTestId("client-gave-up").textContent).toContain(
      "gave up on 2 calls before you decided",
    );
    expect(screen.getByTestId("client-ignores-changes").textContent).toContain("Restart it");
    expect(within(client("claude-code")).getByTestId("client-unused").textContent).toContain(
      "Restart Claude Code",
    );
  });
});
