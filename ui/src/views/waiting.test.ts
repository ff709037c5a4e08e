import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import {
  OFFERED_DELETE_DIGEST,
  OFFERED_INSTRUCTIONS_DIGEST,
  OFFERED_MERGE_DIGEST,
} from "../ipc/fake/definitions";
import { listParams, open, advanceTime, user, withFakeTime } from "../test/app";

withFakeTime();

const definitions = (kind: string) =>
  screen
    .queryAllByTestId("unaccepted-definition")
    .filter((definition) => definition.dataset["kind"] === kind);
const tools = () => definitions("tool");
const toolRow = (name: string) =>
  screen.getAllByTestId("tool-row").find((row) => row.dataset["tool"] === name) as HTMLElement;

describe("definitions that need acceptance", () => {
  it("show the differences field by field, with hidden characters revealed", async () => {
    await open("#/servers/github");
    expect(screen.getByTestId("unaccepted-definitions").textContent).toContain(
      "3 definitions are new or changed since you accepted this server",
    );
    const [merge, deletion] = tools() as [HTMLElement, HTMLElement];
    expect(merge.dataset).toMatchObject({ name: "merge_pull_request", acceptance: "changed" });
    const description = merge.querySelector('[data-field="/description"]') as HTMLElement;
    expect(description.textContent).toContain("Before Merge a pull request.");
    expect(description.querySelector('[data-hidden="U+200B"]')).toBeTruthy();
    expect(description.querySelector(".after mark")?.textContent).toContain("~/.ssh/id_ed25519");
    expect(
      merge.querySelector('[data-field="/annotations/destructiveHint"]')?.textContent,
    ).toContain("Annotations › destructiveHint removed");
    expect(deletion.querySelector('[data-field="/description"]')?.textContent).toContain(
      "Delete a repository with all that is in it.",
    );
    expect(screen.getAllByText("3 definitions need acceptance")).toHaveLength(1);
    expect(within(toolRow("merge_pull_request")).getByTestId("tool-hidden").textContent).toContain(
      "changed since you accepted it",
    );
  });

  it("include the instructions, with the added text", async () => {
    const hub = await open("#/servers/github");
    const [instructions] = definitions("instructions") as [HTMLElement];
    expect(within(instructions).getByRole("heading").textContent.trim()).toBe("Instructions");
    expect(
      instructions.querySelector('[data-field="/instructions"] .after mark')?.textContent,
    ).toContain("# Server filesystem");
    // A definition that has just appeared cannot be accepted for half a second.
    await advanceTime(600);
    await user.click(within(instructions).getByTestId("accept-definition"));
    await advanceTime(1);
    expect(listParams(hub, "servers.accept_definitions").at(-1)?.definitions).toEqual([
      { kind: "instructions", name: "instructions", digest: OFFERED_INSTRUCTIONS_DIGEST },
    ]);
    expect(definitions("instructions")).toHaveLength(0);
    expect(tools()).toHaveLength(2);
  });

  it("cannot be accepted by an accidental click, and are accepted as they were shown", async () => {
    const hub = await open("#/servers/github");
    await user.click(screen.getByTestId("accept-definitions"));
    expect(listParams(hub, "servers.accept_definitions")).toEqual([]);
    await advanceTime(600);
    await user.click(screen.getByTestId("accept-definitions"));
    await advanceTime(1);
    expect(listParams(hub, "servers.accept_definitions")).toEqual([
      {
        id: "github",
        definitions: [
          {
            kind: "instructions",
            name: "instructions",
            digest: OFFERED_INSTRUCTIONS_DIGEST,
          },
          { kind: "tool", name: "merge_pull_request", digest: OFFERED_MERGE_DIGEST },
          { kind: "tool", name: "delete_repository", digest: OFFERED_DELETE_DIGEST },
        ],
      },
    ]);
    expect(screen.queryByTestId("unaccepted-definitions")).toBeNull();
  });

  it("are accepted one by one, and a failure is shown", async () => {
    const hub = await open("#/servers/github");
    await advanceTime(600);
    hub.failures.set(
      "servers.accept_definitions",
      new IpcError("conflict", "It changed again since it was shown."),
    );
    await user.click(within(tools()[1] as HTMLElement).getByTestId("accept-definition"));
    await advanceTime(1);
    expect(screen.getByTestId("server-error").textContent).toBe(
      "It changed again since it was shown.",
    );
    await user.click(within(tools()[1] as HTMLElement).getByTestId("accept-definition"));
    await advanceTime(1);
    expect(listParams(hub, "servers.accept_definitions").at(-1)).toEqual({
      id: "github",
      definitions: [{ kind: "tool", name: "delete_repository", digest: OFFERED_DELETE_DIGEST }],
    });
    expect(tools()).toHaveLength(1);
  });

  it("cannot be accepted at once after they changed on the screen", async () => {
    const hub = await open("#/servers/github");
    await advanceTime(600);
    const github = hub.servers.find((s) => s.id === "github");
    const change = { digest: "f0".repeat(32), description: "Delete everything." };
    for (const definition of [...(github?.tools ?? []), ...(github?.unaccepted ?? [])])
      if (definition.name === "delete_repository") Object.assign(definition, change);
    hub.emit({ kind: "server_changed", id: "github" });
    await advanceTime(10);
    expect(tools()[1]?.textContent).toContain("Delete everything.");
    await user.click(screen.getByTestId("accept-definitions"));
    expect(listParams(hub, "servers.accept_definitions")).toEqual([]);
    await advanceTime(600);
    await user.click(screen.getByTestId("accept-definitions"));
    await advanceTime(1);
    expect(listParams(hub, "servers.accept_definitions")[0]?.definitions[2]?.digest).toBe(
      "f0".repeat(32),
    );
  });

  it("are not accepted if their differences could not be read", async () => {
    const hub = await open("#/servers/github", (fake) =>
      fake.failures.set(
        "servers.definition_history",
        new IpcError("internal", "The store cannot be read."),
      ),
    );
    await advanceTime(600);
    expect(definitions("instructions")[0]?.textContent).toContain("The store cannot be read.");
    await user.click(screen.getByTestId("accept-definitions"));
    await advanceTime(1);
    expect(
      listParams(hub, "servers.accept_definitions")[0]?.definitions.map(({ name }) => name),
    ).toEqual(["merge_pull_request", "delete_repository"]);
  });
});

describe("a tool's history", () => {
  it("lists its versions when it is opened", async () => {
    const hub = await open("#/servers/github");
    const before = listParams(hub, "servers.definition_history").length;
    const row = toolRow("merge_pull_request");
    await user.click(within(row).getAllByRole("button")[0] as HTMLElement);
    await user.click(within(row).getByTestId("tool-history"));
    await advanceTime(1);
    expect(listParams(hub, "servers.definition_history")).toHaveLength(before + 1);
    const versions = within(row).getAllByTestId("tool-version");
    expect(versions).toHaveLength(2);
    expect(versions[0]?.textContent).toContain("offered now");
    expect(versions[0]?.textContent).toContain("not accepted");
    expect(versions[1]?.textContent).toContain("First version");
  });
});

describe("the state of a server", () => {
  it("is shown with its reason, the remedy, the next attempt and the history", async () => {
    await open("#/servers/weather/details");
    expect(screen.getByTestId("server-state").dataset["state"]).toBe("error");
    expect(screen.getByTestId("server-reason").textContent).toContain("exit code 1");
    expect(screen.getByTestId("server-remedy").textContent).toContain("press Restart");
    expect(screen.getByTestId("server-retry").textContent).toContain(
      "(1 min 35 s left). “Restart” tries now.",
    );
    await advanceTime(65_000);
    expect(screen.getByTestId("server-retry").textContent).toContain("(30 s left)");
    await advanceTime(31_000);
    expect(screen.getByTestId("server-retry").textContent).toBe(
      "The next call tries again. “Restart” tries now.",
    );
    const steps = within(screen.getByTestId("server-transitions")).getAllByRole("listitem");
    expect(steps.map((step) => step.dataset["state"])).toEqual([
      "error",
      "initializing",
      "error",
      "initializing",
    ]);
    expect(steps[0]?.textContent).toContain("session of cursor");
    await user.click(screen.getByText("Show all 6"));
    expect(within(screen.getByTestId("server-transitions")).getAllByRole("listitem")).toHaveLength(
      6,
    );
  });

  it("is shown with the reason of a slow start", async () => {
    await open("#/servers/filesystem");
    await user.click(screen.getByTestId("server-restart"));
    await advanceTime(1);
    expect(screen.getByTestId("server-reason").textContent).toContain(
      "npx may have to download the server first.",
    );
    expect(screen.getByText("The server is starting…").getAttribute("role")).toBe("status");
    await advanceTime(1000);
    expect(screen.queryByTestId("server-reason")).toBeNull();
  });

  it("is shown with its usage, which is read only while the screen is open", async () => {
    const hub = await open("#/servers/filesystem");
    expect(screen.getByTestId("server-usage").textContent).toContain("2 processes");
    await advanceTime(6100);
    expect(listParams(hub, "servers.usage")).toHaveLength(4);
    location.hash = "#/logs";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await advanceTime(6100);
    expect(listParams(hub, "servers.usage")).toHaveLength(4);
  });
});

describe("a failed action", () => {
  it("is not shown twice if the state of the server has the same reason", async () => {
    const hub = await open("#/servers/weather");
    const { reason = "" } = hub.servers.find((s) => s.id === "weather") ?? {};
    hub.failures.set("servers.restart", new IpcError("unavailable", `${reason} See its log.`));
    await user.click(screen.getByTestId("server-restart"));
    await advanceTime(1);
    expect(screen.queryByTestId("server-error")).toBeNull();
    expect(screen.getByTestId("server-reason").textContent).toBe(reason.replaceAll("`", ""));
    hub.failures.set("servers.restart", new IpcError("internal", "The hub is shutting down."));
    await user.click(screen.getByTestId("server-restart"));
    await advanceTime(1);
    expect(screen.getByTestId("server-error").textContent).toBe("The hub is shutting down.");
  });
});
