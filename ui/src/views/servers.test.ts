import { cleanup, render, screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import App from "../App.svelte";
import { IpcError, type Verb, type Verbs } from "../ipc";
import { FakeHub } from "../ipc/fake";
import { UNDO_MS } from "../state/removals.svelte";
import { advanceTime, listParams as listParamsOf, user, withFakeTime } from "../test/app";

withFakeTime();

let hub: FakeHub;

async function open(hash: string, empty = false) {
  hub = new FakeHub(empty);
  location.hash = hash;
  render(App, { ipc: hub });
  await advanceTime(1);
}

async function openForm(): Promise<void> {
  await open("#/servers/+add", true);
  await user.click(screen.getByTestId("server-form-tab"));
}

function isListed(server: string): boolean {
  return screen.queryAllByTestId("server-row").some((row) => row.dataset["server"] === server);
}

function listParams<V extends Verb>(verb: V): Verbs[V]["params"][] {
  return listParamsOf(hub, verb);
}

describe("adding a server", () => {
  it("verifies it, saves it, and sends its secret apart from its spec", async () => {
    await open("#/servers", true);
    await user.click(screen.getByTestId("add-server"));
    await advanceTime(1);
    await user.click(screen.getByTestId("server-form-tab"));
    await user.type(screen.getByTestId("server-name"), "search");
    await user.type(screen.getByTestId("server-command"), `npx -y search "/my files"`);
    await user.click(screen.getByTestId("env-add"));
    await user.type(screen.getByTestId("env-key"), "API_KEY");
    await user.click(screen.getByTestId("env-secret"));
    await user.type(screen.getByTestId("env-value"), "sk-123");
    expect(screen.getByTestId<HTMLInputElement>("env-value").type).toBe("password");

    await user.click(screen.getByTestId("server-verify"));
    expect(screen.getByText("Connecting to the server and listing its tools…")).toBeTruthy();
    await advanceTime(1000);
    expect(screen.getByTestId("verify-result").textContent).toContain("everything 1.4.0");

    await user.click(screen.getByTestId("server-save"));
    await advanceTime(1);
    const [added] = listParams("servers.add");
    expect(added).toMatchObject({
      pending: false,
      spec: { name: "search", command: "npx", args: ["-y", "search", "/my files"], env: {} },
      secrets: { env: { API_KEY: "sk-123" }, headers: {} },
    });
    expect(listParams("servers.verify_spec")[0]).toMatchObject({
      secrets: { env: { API_KEY: "sk-123" } },
    });
    expect(location.hash).toBe("#/servers/search");
    await advanceTime(1000);
    expect(screen.getByTestId("server-row").dataset).toMatchObject({
      server: "search",
      state: "active",
    });
  });

  it("shows the full reason if verification fails, and can be saved anyway", async () => {
    await openForm();
    await user.type(screen.getByTestId("server-name"), "x");
    await user.type(screen.getByTestId("server-command"), "nowhere");
    await user.click(screen.getByTestId("server-verify"));
    await advanceTime(1000);
    expect(screen.getByTestId("dialog-error").textContent).toContain("no such file in PATH");
    await user.click(screen.getByTestId("server-save"));
    await advanceTime(1);
    expect(listParams("servers.add")).toHaveLength(1);
  });

  it("shows a missing field, and sends nothing", async () => {
    await openForm();
    await user.click(screen.getByTestId("server-save"));
    expect(screen.getByText("Enter the command that starts the server.")).toBeTruthy();
    expect(listParams("servers.add")).toEqual([]);
  });

  it("stays open with the reason if the hub refuses the server", async () => {
    await openForm();
    hub.failures.set("servers.add", new IpcError("conflict", "There is a server named x already."));
    await user.type(screen.getByTestId("server-name"), "x");
    await user.click(screen.getByTestId("server-kind-remote"));
    await user.type(screen.getByTestId("server-url"), "https://example.org/mcp");
    await user.click(screen.getByTestId("server-save"));
    await advanceTime(1);
    expect(screen.getByTestId("dialog-error").textContent).toBe(
      "There is a server named x already.",
    );
  });

  it("shows the settings of a pasted text that are not taken over, and the skipped entries", async () => {
    await open("#/servers/+add", true);
    await user.click(screen.getByTestId("server-paste-tab"));
    await user.click(screen.getByTestId("paste-text"));
    await user.paste(
      JSON.stringify({
        mcpServers: {
          git: { command: "uvx", args: ["mcp-server-git"], autoApprove: ["git_status"] },
          gateway: { command: "drawbridge", args: ["stdio"] },
        },
      }),
    );
    await user.click(screen.getByTestId("paste-read"));
    await advanceTime(1);
    expect(screen.getByTestId("paste-skipped").textContent).toContain("1 of 2 entries");
    const [git, gateway] = screen.getAllByTestId("paste-entry");
    expect(git?.textContent).toContain("Not taken over: 'autoApprove'.");
    expect(gateway?.textContent).toContain("skipped");
    expect(gateway?.textContent).toContain("connects the client to Drawbridge");
  });

  it("reads a client's JSON, and marks likely secrets", async () => {
    await open("#/servers/+add", true);
    await user.click(screen.getByTestId("server-paste-tab"));
    await user.click(screen.getByTestId("paste-text"));
    await user.paste(
      JSON.stringify({
        mcpServers: {
          slack: { command: "npx", args: ["slack"], env: { SLACK_TOKEN: "xoxb", TEAM: "T1" } },
          bad: {},
        },
      }),
    );
    await user.click(screen.getByTestId("paste-read"));
    await advanceTime(1);
    const [slack, bad] = screen.getAllByTestId("paste-entry");
    expect(bad?.textContent).toContain("neither a command nor a url");
    expect(
      within(slack as HTMLElement)
        .getAllByTestId<HTMLInputElement>("env-secret")
        .map((i) => i.checked),
    ).toEqual([true, false]);
    await user.click(screen.getByTestId("server-save"));
    await advanceTime(1);
    expect(listParams("servers.add")).toMatchObject([
      { spec: { name: "slack", env: { TEAM: "T1" } }, secrets: { env: { SLACK_TOKEN: "xoxb" } } },
    ]);
    expect(location.hash).toBe("#/servers/slack");
  });
});

describe("a server", () => {
  it("keeps a stored secret unless it is replaced", async () => {
    await open("#/servers/github");
    await user.click(screen.getByTestId("server-edit"));
    expect(screen.getByText("stored secret", { selector: "dialog *" })).toBeTruthy();
    await user.click(screen.getByTestId("env-replace"));
    await user.type(screen.getByTestId("env-value"), "Bearer new");
    await user.click(screen.getByTestId("server-save"));
    await advanceTime(1);
    expect(listParams("servers.update")).toMatchObject([
      {
        id: "github",
        spec: { headers: {} },
        secrets: { headers: { Authorization: "Bearer new" } },
      },
    ]);
  });

  it("shows its new command if it changed, and starts after it is accepted", async () => {
    await open("#/servers/browser");
    expect(screen.getByTestId("server-detail").textContent).toContain(
      "npx -y @playwright/mcp@latest --headless",
    );
    expect(screen.getByTestId("server-sync").getAttribute("aria-disabled")).toBe("true");
    expect(screen.getByTestId("server-sync").getAttribute("aria-describedby")).toBeTruthy();
    const differences = document.querySelector('[data-field="/args"]');
    expect(differences?.textContent).toContain("1.0.0");
    await user.click(screen.getByTestId("grant-secret"));
    await user.click(screen.getByTestId("server-accept"));
    await advanceTime(1);
    expect(listParams("servers.accept")).toEqual([
      { id: "browser", identity: "1d-browser", grant_secrets: ["github.GITHUB_TOKEN"] },
    ]);
    expect(screen.queryByTestId("server-accept")).toBeNull();
  });

  it("is not accepted before each secret of another server is granted", async () => {
    await open("#/servers/browser");
    expect(screen.getByTestId("foreign-secret").textContent).toContain("github.GITHUB_TOKEN");
    await user.click(screen.getByTestId("server-accept"));
    await advanceTime(1);
    expect(listParams("servers.accept")).toEqual([]);
  });

  it("is pinned to the version in use with one click", async () => {
    await open("#/servers/filesystem/details");
    const detail = screen.getByTestId("server-detail");
    expect(within(detail).getAllByText("floating").length).toBeGreaterThan(0);
    await user.click(screen.getByTestId("server-pin"));
    await advanceTime(1);
    expect(listParams("servers.pin")).toEqual([{ id: "filesystem" }]);
    expect(detail.textContent).toContain("@modelcontextprotocol/server-filesystem@1.2.3");
    expect(within(detail).queryByText("floating")).toBeNull();
    expect(screen.queryByTestId("server-pin")).toBeNull();
  });

  it("shows why it cannot be pinned", async () => {
    await open("#/servers/filesystem");
    const message = "npx has not downloaded it yet.";
    hub.failures.set("servers.pin", new IpcError("conflict", message));
    await user.click(screen.getByTestId("server-pin"));
    await advanceTime(1);
    expect(screen.getByTestId("server-detail").textContent).toContain(message);
    expect(screen.getByTestId("server-pin")).toBeTruthy();
  });

  it("is removed after a delay, in which the removal can be undone", async () => {
    await open("#/servers/weather");
    await user.click(screen.getByTestId("server-remove"));
    expect(location.hash).toBe("#/servers");
    expect(isListed("weather")).toBe(false);
    await user.click(screen.getByTestId("removal-undo"));
    expect(isListed("weather")).toBe(true);
    await advanceTime(UNDO_MS);
    expect(listParams("servers.remove")).toEqual([]);

    location.hash = "#/servers/weather";
    await advanceTime(1);
    await user.click(screen.getByTestId("server-remove"));
    await advanceTime(UNDO_MS);
    expect(listParams("servers.remove")).toEqual([{ id: "weather" }]);
  });

  it("has a policy for each tool", async () => {
    await open("#/servers/filesystem");
    const row = screen
      .getAllByTestId("tool-row")
      .find((r) => r.dataset["tool"] === "write_file") as HTMLElement;
    await user.selectOptions(within(row).getByTestId("tool-policy"), "allow");
    await advanceTime(1);
    expect(listParams("policy.set")).toEqual([
      {
        effect: "allow",
        server: "filesystem",
        tool: "write_file",
        client: null,
        user: null,
        kind: null,
      },
    ]);
  });

  it("shows the position of an error in a broken spec file", async () => {
    await open("#/servers");
    expect(screen.getByTestId("broken-spec").textContent).toContain("notes.json:4:3");
  });
});

describe("a server that requires a sign-in", () => {
  const card = () => screen.getByTestId("sign-in-card");

  it("links to its page, and shows the progress and the end", async () => {
    await open("#/servers/tickets/details");
    expect(screen.getByTestId("server-detail").textContent).toContain("Needs sign-in");
    await user.click(screen.getByTestId("sign-in"));
    await advanceTime(1);
    expect(listParams("servers.sign_in")).toEqual([{ id: "tickets" }]);
    expect(card().dataset["state"]).toBe("waiting_for_browser");
    const link = screen.getByTestId<HTMLAnchorElement>("sign-in-link");
    expect([link.href, link.rel]).toEqual([
      screen.getByTestId("sign-in-url").textContent,
      "noopener noreferrer",
    ]);
    hub.signIn("tickets", { kind: "exchanging" });
    await advanceTime(1);
    expect(
      within(card()).getByText("Drawbridge gets the token…").getAttribute("aria-current"),
    ).toBe("step");
    hub.signIn("tickets", { kind: "done" });
    await advanceTime(1);
    expect(screen.queryByTestId("sign-in-card")).toBeNull();
    expect(screen.getByTestId("signed-in").textContent).toContain(
      "with https://auth.example.com; the token expires in 60 min",
    );
    await user.click(screen.getByTestId("sign-out"));
    await advanceTime(1);
    expect(listParams("servers.sign_out")).toEqual([{ id: "tickets" }]);
    expect(screen.getByTestId("sign-in")).toBeTruthy();
  });

  it("shows why an attempt failed, and can be tried again or cancelled", async () => {
    await open("#/servers/tickets");
    await user.click(screen.getByTestId("sign-in"));
    await advanceTime(1);
    hub.signIn("tickets", {
      kind: "failed",
      reason: "the authorization server refused: access_denied",
    });
    await advanceTime(1);
    expect(screen.getByTestId("sign-in-failed").textContent).toContain("access_denied");
    await user.click(screen.getByTestId("sign-in"));
    await advanceTime(1);
    await user.click(screen.getByTestId("sign-in-cancel"));
    await advanceTime(1);
    expect(listParams("servers.cancel_sign_in")).toEqual([{ id: "tickets" }]);
    expect(card().dataset["state"]).toBe("none");
  });

  it("has no link if the app opens the browser, and no link for an unsafe URL", async () => {
    await open("#/servers/tickets");
    hub.opensBrowser = true;
    await user.click(screen.getByTestId("sign-in"));
    await advanceTime(1);
    expect(screen.getByTestId("sign-in-again")).toBeTruthy();
    cleanup();
    await open("#/servers/tickets");
    Object.assign(hub.servers.find((s) => s.id === "tickets") ?? {}, {
      signing_in: { id: "x", url: "javascript:alert(1)", state: { kind: "waiting_for_browser" } },
    });
    hub.emit({ kind: "server_changed", id: "tickets" });
    await advanceTime(1);
    expect(screen.queryByTestId("sign-in-link")).toBeNull();
  });
});

describe("a client", () => {
  it("gets its token once, and JSON to paste", async () => {
    await open("#/clients", true);
    await user.click(screen.getByTestId("add-client"));
    await advanceTime(1);
    await user.type(screen.getByTestId("client-name"), "zed");
    await user.click(screen.getByTestId("client-create"));
    await advanceTime(1);
    const token = screen.getByTestId("client-token").textContent;
    expect(screen.getByTestId("client-config").textContent).toContain(`Bearer ${token}`);
    expect(screen.getByTestId("client-url").textContent).toBe("http://127.0.0.1:8765/mcp");
    await user.click(screen.getByTestId("client-stdio-tab"));
    expect(screen.getByTestId("client-stdio-config").textContent).not.toContain(token);
    await user.click(screen.getByTestId("client-done"));
    await advanceTime(1);
    expect(document.body.textContent).not.toContain(token);
    expect(screen.getByTestId("client-row").textContent).toContain("zed");
  });
});

describe("a page without access to the hub", () => {
  it("says how to sign in", async () => {
    hub = new FakeHub(true);
    hub.failures.set("approvals.list", new IpcError("signed_out", ""));
    render(App, { ipc: hub });
    await advanceTime(1);
    expect(document.body.textContent).toContain(
      "This browser is not signed in. Use the Drawbridge app, or run this command in a terminal to get a sign-in link: drawbridge open",
    );
  });

  it("shows a banner while the hub is not reachable", async () => {
    await open("#/logs");
    hub.setConnected(false);
    await advanceTime(1);
    expect(screen.getByTestId("not-reachable").textContent).toBe(
      "Drawbridge is not reachable. Trying again…",
    );
    hub.setConnected(true);
    await advanceTime(1);
    expect(screen.queryByTestId("not-reachable")).toBeNull();
  });
});
