import { fireEvent, render, screen, within } from "@testing-library/svelte";
import { describe, expect, it, vi } from "vitest";
import App from "../../App.svelte";
import { IpcError } from "../../ipc";
import { FakeHub } from "../../ipc/fake";
import { advanceTime, listParams, open, user, withFakeTime } from "../../test/app";
import ImportPanelHost from "../../test/ImportPanelHost.svelte";

withFakeTime();

const GITLAB_TOKEN = "gitlab.GITLAB_PERSONAL_ACCESS_TOKEN";
const CURSOR_FILE = "/home/ada/.cursor/mcp.json";
const CLAUDE_FILE = "/home/ada/.config/Claude/claude_desktop_config.json";
const VS_CODE_FILE = "/home/ada/.config/Code/User/mcp.json";

const byId = (id: string) => screen.getByTestId(id);
const server = (name: string) =>
  screen
    .getAllByTestId("found-server")
    .find((row) => row.dataset["server"] === name) as HTMLElement;
const checkbox = (name: string) => within(server(name)).getByRole<HTMLInputElement>("checkbox");
const announcement = () => byId("import-announcement").textContent;

async function openImport(change: (hub: FakeHub) => void = () => undefined) {
  return open("#/servers/+import", change);
}

async function click(id: string) {
  await user.click(byId(id));
  await advanceTime(1);
}

/** Deselects the server that needs a value, and shows the changes. */
async function showChanges() {
  await user.click(checkbox("jira"));
  await click("import-preview");
}

async function importAll(change?: (hub: FakeHub) => void) {
  const hub = await openImport(change);
  await showChanges();
  await click("import-confirm");
  return hub;
}

/** Presses Escape as a browser does, which jsdom does not. */
async function pressEscape(dialog: HTMLElement) {
  if (await fireEvent(dialog, new Event("cancel", { cancelable: true })))
    (dialog as HTMLDialogElement).close();
  await advanceTime(1);
}

describe("the servers of clients", () => {
  it("are offered on the Servers screen", async () => {
    await open("#/servers");
    await click("import-servers");
    expect(byId("client-import-dialog")).toBeTruthy();
  });

  it("are offered if there is no server yet", async () => {
    location.hash = "#/servers";
    render(App, { ipc: new FakeHub(true) });
    await advanceTime(1);
    await click("servers-empty-import");
    expect(byId("client-import-dialog")).toBeTruthy();
  });

  it("are shown once each, with their files, commands, processes and secrets", async () => {
    await openImport();
    expect(byId("import-found").textContent).toContain("7 servers found. 5 can be imported.");
    expect(byId("import-found").textContent).toContain("would save 92.0 MB");
    const gitlab = server("gitlab");
    for (const text of [
      "npx -y @modelcontextprotocol/server-gitlab",
      "2 processes run now and use 184 MB.",
      "One shared process saves 92.0 MB.",
      GITLAB_TOKEN,
      "Claude Desktop",
      "Cursor",
      "VS Code",
    ])
      expect(gitlab.textContent).toContain(text);
    expect(server("redis").textContent).toContain("server-redis •••");
    expect(server("redis").textContent).toContain("Argument 3 looks like a secret.");
    expect(gitlab.textContent).not.toContain(CURSOR_FILE);
    expect(within(gitlab).getByTitle(CURSOR_FILE).textContent).toBe("Cursor");
    await user.click(within(gitlab).getByTestId("found-files"));
    for (const file of [CLAUDE_FILE, CURSOR_FILE, VS_CODE_FILE])
      expect(gitlab.textContent).toContain(file);
  });

  it("are all selected at first, and can be selected one by one, all, or none", async () => {
    await openImport();
    const names = ["gitlab", "jira", "linear", "playwright", "redis"];
    const selected = () => names.filter((name) => checkbox(name).checked);
    expect(selected()).toEqual(names);
    await user.click(checkbox("linear"));
    expect(byId("import-selected").textContent).toBe("4 of 5 selected");
    await click("import-select-none");
    expect(selected()).toEqual([]);
    await click("import-select-all");
    expect(selected()).toEqual(names);
  });

  it("cannot be selected if Drawbridge has them, or cannot use them, and say why", async () => {
    await openImport();
    expect(server("filesystem").textContent).toContain("in Drawbridge as filesystem");
    expect(within(server("filesystem")).queryByRole("checkbox")).toBeNull();
    expect(server("search").textContent).toContain("the transport 'websocket' is unknown");
    expect(within(server("search")).queryByRole("checkbox")).toBeNull();
    const unreadable = byId("import-unreadable").textContent;
    expect(unreadable).toContain("/home/ada/.gemini/settings.json");
    expect(unreadable).toContain("line 14, column 3");
  });

  it("cannot be imported before a server is selected", async () => {
    const hub = await openImport();
    await click("import-select-none");
    await user.click(byId("import-removes-known"));
    expect(byId("import-preview").getAttribute("aria-disabled")).toBe("true");
    await click("import-preview");
    expect(listParams(hub, "config.preview_import")).toEqual([]);
  });

  it("ask for the values that no file contains, and never show a secret", async () => {
    const hub = await openImport();
    await click("import-preview");
    expect(listParams(hub, "config.preview_import")).toEqual([]);
    const input = byId("import-input") as HTMLInputElement;
    expect(document.activeElement).toBe(input);
    expect(input.type).toBe("password");
    expect(server("jira").textContent).toContain("Enter a value, or deselect the server.");
    await user.type(input, "s3cret");
    await click("import-preview");
    expect(listParams(hub, "config.preview_import")[0]?.servers).toContainEqual({
      name: "jira",
      inputs: { "jira-token": "s3cret" },
    });
    expect(document.body.textContent).not.toContain("s3cret");
  });

  it("are searched in the folders of projects too", async () => {
    const hub = await openImport();
    await click("import-projects");
    await user.type(byId("import-project-folders"), "/home/ada/a\n /home/ada/b ");
    await click("import-search");
    expect(listParams(hub, "config.find_servers").at(-1)?.projects).toEqual([
      "/home/ada/a",
      "/home/ada/b",
    ]);
  });

  it("are awaited with a busy state", async () => {
    await openImport((hub) => (hub.delay = 500));
    expect(byId("import-finding").textContent).toContain("Reading the files of your clients…");
    expect(byId("import-preview").getAttribute("aria-disabled")).toBe("true");
    await advanceTime(1000);
    expect(screen.queryByTestId("import-finding")).toBeNull();
    expect(announcement()).toBe("7 servers found. 5 can be imported.");
  });
});

describe("a search", () => {
  it("that finds nothing says which files were searched and what to do", async () => {
    await openImport((hub) => {
      hub.imports.found = [];
      hub.imports.unreadable = [];
      const call = hub.call.bind(hub);
      vi.spyOn(hub, "call").mockImplementation(async (verb, params) => {
        if (verb !== "config.list") return call(verb, params);
        const { project } = params as { project: string | null };
        const paths = [CURSOR_FILE, ...(project ? [`${project}/.cursor/mcp.json`] : [])];
        const files = paths.map((path) => ({ path, exists: false }));
        return {
          changes: [],
          kinds: [
            { id: "cursor", name: "Cursor", files },
            { id: "standard", name: "Any other client", files: [] },
          ],
        } as never;
      });
    });
    expect(byId("import-nothing").textContent).toContain("No servers found");
    expect(byId("import-nothing").textContent).toContain("search its folder too");
    await click("import-searched");
    expect(byId("import-searched-panel").textContent).toContain(CURSOR_FILE);
    expect(byId("import-searched-panel").textContent).toContain("not found");
    expect(byId("import-searched-panel").textContent).not.toContain("Any other client");
    await user.type(byId("import-project-folders"), "/work/a\n/work/b");
    await click("import-search");
    const items = within(byId("import-searched-panel")).getAllByRole("listitem");
    expect(
      items.map((item) => [...item.querySelectorAll("code")].map((path) => path.textContent)),
    ).toEqual([[CURSOR_FILE, "/work/a/.cursor/mcp.json", "/work/b/.cursor/mcp.json"]]);
  });

  it("that fails shows the reason, and can be repeated", async () => {
    await openImport((hub) =>
      hub.failures.set(
        "config.find_servers",
        new IpcError("unavailable", "the home folder is unknown"),
      ),
    );
    expect(byId("import-error").textContent).toContain("the home folder is unknown");
    await click("import-retry");
    expect(screen.queryByTestId("import-error")).toBeNull();
    expect(server("gitlab")).toBeTruthy();
  });
});

describe("the changes", () => {
  it("are shown for each file, with the names of the secrets and without values", async () => {
    const hub = await openImport();
    await showChanges();
    expect(
      within(byId("preview-servers"))
        .getAllByRole("listitem")
        .map((item) => item.textContent.trim()),
    ).toEqual(["gitlab", "linear", "playwright", "redis"]);
    expect(byId("preview-secrets").textContent).toContain(GITLAB_TOKEN);
    const files = screen.getAllByTestId("preview-file");
    expect(files.map((file) => file.dataset["path"])).toEqual([
      CLAUDE_FILE,
      CURSOR_FILE,
      VS_CODE_FILE,
    ]);
    const diff = within(files[1] as HTMLElement).getByTestId("file-diff");
    expect(diff.textContent).toContain('-    "gitlab": {');
    expect(diff.textContent).toContain('"GITLAB_PERSONAL_ACCESS_TOKEN": "•••"');
    expect(diff.textContent).toContain('+    "drawbridge": {');
    expect(diff.tabIndex).toBe(0);
    expect(listParams(hub, "config.import")).toEqual([]);
  });

  it("include the entries of servers that Drawbridge has, unless a person keeps them", async () => {
    const hub = await openImport();
    await showChanges();
    await click("import-back");
    await user.click(byId("import-removes-known"));
    await click("import-preview");
    const [first, second] = listParams(hub, "config.preview_import").map(({ servers }) =>
      servers.map(({ name }) => name),
    );
    expect(first).toContain("filesystem");
    expect(second).not.toContain("filesystem");
  });

  it("leave the clients' files alone if these clients should not be connected to Drawbridge", async () => {
    const hub = await openImport();
    expect(byId("import-clients").textContent).toContain(CURSOR_FILE);
    await user.click(byId("import-connect"));
    expect(screen.queryByTestId("import-clients")).toBeNull();
    expect(byId("import-panel").textContent).toContain("The clients' files stay as they are.");
    await showChanges();
    expect(listParams(hub, "config.preview_import")[0]).toMatchObject({
      connect: false,
      ask_once: false,
    });
    expect(screen.queryAllByTestId("preview-file")).toEqual([]);
  });

  it("name the files that stay as they are, with the reason and what to do", async () => {
    const reason = `${CURSOR_FILE} is read-only; allow writing it, and try again`;
    await openImport((hub) => hub.imports.unchangeable.set(CURSOR_FILE, reason));
    await showChanges();
    expect(byId("preview-problems").textContent).toContain(reason);
    await click("import-confirm");
    expect(byId("import-untouched").textContent).toContain(reason);
    expect(byId("import-untouched").textContent).toContain(
      "connect its client on the Clients screen",
    );
    expect(screen.getByRole("link", { name: "Open Clients" }).getAttribute("href")).toBe(
      "#/clients",
    );
  });

  it("show the reason if they cannot be computed", async () => {
    const hub = await openImport();
    hub.failures.set(
      "config.preview_import",
      new IpcError("not_found", "no server named 'gitlab' was found; look for servers again"),
    );
    await showChanges();
    expect(byId("import-error").textContent).toContain("look for servers again");
    await click("import-preview");
    expect(byId("import-panel").dataset["step"]).toBe("preview");
  });
});

describe("an import", () => {
  it("imports what was shown, and says which servers wait for the person", async () => {
    const hub = await importAll();
    expect(listParams(hub, "config.import")).toEqual([{ id: "preview-1", restores: false }]);
    expect(byId("import-done").textContent).toContain("4 servers imported.");
    expect(announcement()).toBe("4 servers imported.");
    expect(byId("import-panel").textContent).toContain("3 files changed:");
    const waiting = byId("import-waiting");
    expect(waiting.textContent).toContain("1 server waits for you before it starts:");
    const link = within(waiting).getByRole("link", { name: "Open playwright" });
    expect(link.getAttribute("href")).toBe("#/servers/playwright");
    expect(screen.getAllByTestId("server-row").map((row) => row.dataset["server"])).toContain(
      "gitlab",
    );
  });

  it("restores entries without asking only if the person chose that", async () => {
    const hub = await openImport();
    await user.click(byId("import-restores"));
    await showChanges();
    await click("import-confirm");
    expect(listParams(hub, "config.import")).toMatchObject([{ restores: true }]);
  });

  it("imports nothing if a file changed since, and offers to show the changes again", async () => {
    const hub = await openImport();
    await showChanges();
    hub.failures.set(
      "config.import",
      new IpcError(
        "conflict",
        "the files have changed since the changes were shown; review the changes again",
      ),
    );
    await click("import-confirm");
    const error = byId("import-error").textContent;
    expect(error).toContain("the files have changed since the changes were shown");
    expect(error).toContain("Nothing was imported, and no file was changed.");
    expect(screen.queryByTestId("import-confirm")).toBeNull();
    await click("import-retry");
    expect(listParams(hub, "config.preview_import")).toHaveLength(2);
    expect(screen.queryByTestId("import-error")).toBeNull();
    await click("import-confirm");
    expect(byId("import-done").textContent).toContain("4 servers imported.");
  });

  it("is undone in one step, with the result for each file", async () => {
    const hub = await importAll();
    await click("import-undo");
    expect(listParams(hub, "config.undo")).toEqual([{ change: "change-2", kind: null }]);
    expect(byId("import-undone").textContent).toContain("4 imported servers removed.");
    expect(byId("import-undone").textContent).toContain("files are as they were before");
    const files = screen.getAllByTestId("undone-file");
    expect(files).toHaveLength(3);
    expect(files[0]?.textContent).toContain("restored exactly");
    expect(announcement()).toBe("Import undone");
    expect(screen.getAllByTestId("server-row").map((row) => row.dataset["server"])).not.toContain(
      "gitlab",
    );
    await click("import-again");
    expect(byId("import-panel").dataset["step"]).toBe("choose");
    expect(checkbox("gitlab").checked).toBe(true);
  });

  it("says which file could not be restored, and undoes the rest later", async () => {
    const hub = await importAll((fake) =>
      fake.imports.unrestorable.set(CURSOR_FILE, `${CURSOR_FILE} is read-only`),
    );
    await click("import-undo");
    expect(byId("import-undone").textContent).toContain("1 file could not be restored.");
    expect(byId("import-panel").textContent).toContain(`${CURSOR_FILE} is read-only`);
    expect(byId("import-panel").textContent).toContain("Correct the cause, and undo the rest.");
    hub.imports.unrestorable.clear();
    expect(byId("import-undo").textContent).toContain("Undo the rest");
    await click("import-undo");
    expect(byId("import-undone").textContent).toContain("files are as they were before");
  });

  it("shows why it could not be undone, and can be undone again", async () => {
    const hub = await importAll();
    hub.failures.set("config.undo", new IpcError("unavailable", "the keyring is locked"));
    await click("import-undo");
    expect(byId("import-error").textContent).toContain("the keyring is locked");
    await click("import-undo");
    expect(byId("import-undone")).toBeTruthy();
  });
});

describe("the dialog of an import", () => {
  it("moves the focus to the heading of each step", async () => {
    await openImport();
    const focused = () => document.activeElement?.textContent;
    expect(focused()).toBe("Choose servers");
    await showChanges();
    expect(focused()).toBe("Check the changes");
    await click("import-back");
    expect(focused()).toBe("Choose servers");
    await click("import-preview");
    await click("import-confirm");
    expect(focused()).toBe("Import finished");
    await click("import-undo");
    expect(focused()).toBe("Import undone");
  });

  it("has every control of the first step in the tab order", async () => {
    await openImport();
    const reached = new Set<Element | null>();
    for (let step = 0; step < 80; step += 1) {
      await user.tab();
      reached.add(document.activeElement);
    }
    const controls = byId("client-import-dialog").querySelectorAll("button, input, textarea, a");
    expect([...controls].filter((control) => !reached.has(control))).toEqual([]);
  });

  it("imports with the keyboard only", async () => {
    const hub = await openImport();
    checkbox("jira").focus();
    await user.keyboard(" ");
    byId("import-preview").focus();
    await user.keyboard("{Enter}");
    await advanceTime(1);
    byId("import-confirm").focus();
    await user.keyboard("{Enter}");
    await advanceTime(1);
    expect(listParams(hub, "config.import")).toHaveLength(1);
  });

  it("closes with Escape if nothing is half done", async () => {
    await openImport();
    await pressEscape(byId("client-import-dialog"));
    expect(screen.queryByTestId("client-import-dialog")).toBeNull();
    expect(location.hash).toBe("#/servers");
  });

  it("asks before Escape closes an import that is half done", async () => {
    const hub = await openImport();
    await showChanges();
    await pressEscape(byId("client-import-dialog"));
    expect(byId("confirm-dialog").textContent).toContain("Nothing has been changed.");
    await pressEscape(byId("confirm-dialog"));
    expect(screen.queryByTestId("confirm-dialog")).toBeNull();
    expect(byId("import-panel").dataset["step"]).toBe("preview");
    await pressEscape(byId("client-import-dialog"));
    await click("confirm");
    expect(screen.queryByTestId("client-import-dialog")).toBeNull();
    expect(listParams(hub, "config.import")).toEqual([]);
  });
});

describe("the dialog of a half-done import", () => {
  it("stays open if the browser closes it without asking", async () => {
    await openImport();
    await showChanges();
    const dialog = byId("client-import-dialog") as HTMLDialogElement;
    dialog.close();
    await advanceTime(1);
    expect(dialog.open).toBe(true);
    expect(byId("confirm-dialog")).toBeTruthy();
  });

  it("says that files are still being changed", async () => {
    const hub = await openImport();
    await showChanges();
    hub.delay = 500;
    await click("import-confirm");
    expect(byId("import-panel").textContent).toContain("Importing the servers");
    await pressEscape(byId("client-import-dialog"));
    expect(byId("confirm-dialog").textContent).toContain("still changing files");
    await advanceTime(2000);
    expect(byId("import-done")).toBeTruthy();
  });
});

describe("the panel without a dialog", () => {
  it("imports, and reports the servers and its end", async () => {
    const hub = new FakeHub(true);
    const onclose = vi.fn();
    const onimported = vi.fn();
    render(ImportPanelHost, { ipc: hub, onclose, onimported });
    await advanceTime(1);
    await showChanges();
    await click("import-confirm");
    expect(onimported).toHaveBeenCalledExactlyOnceWith([
      "filesystem",
      "gitlab",
      "linear",
      "playwright",
      "redis",
    ]);
    expect(onclose).not.toHaveBeenCalled();
    await click("import-close");
    expect(onclose).toHaveBeenCalledOnce();
  });
});
