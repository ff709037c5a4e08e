import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { listParams, open, advanceTime, user, withFakeTime } from "../test/app";

withFakeTime();

describe("the advanced part of a server", () => {
  it("is saved with the chosen values", async () => {
    const hub = await open("#/servers/filesystem");
    await user.click(screen.getByTestId("server-edit"));
    await user.click(screen.getByTestId("advanced"));
    await user.selectOptions(screen.getByTestId("server-lifecycle"), "transient");
    await user.selectOptions(screen.getByTestId("server-visibility"), "deferred");
    await user.selectOptions(screen.getByTestId("server-definitions"), "trust");
    await user.selectOptions(screen.getByTestId("server-validate"), "strict");
    await user.selectOptions(screen.getByTestId("server-content-defence"), "ask");
    await user.selectOptions(screen.getByTestId("server-prefix"), "own");
    await user.type(screen.getByTestId("server-prefix-own"), "fs");
    await user.selectOptions(screen.getByTestId("server-allowed"), "some");
    // Deselects the fourth tool, `delete_file`.
    await user.click(
      within(screen.getAllByTestId("allowed-tool")[3]?.closest("label") as HTMLElement).getByRole(
        "checkbox",
      ),
    );
    await user.click(screen.getByTestId("server-save"));
    await advanceTime(1);
    expect(listParams(hub, "servers.update")).toMatchObject([
      {
        id: "filesystem",
        spec: {
          lifecycle: "transient",
          visibility: "deferred",
          definitions: "trust",
          validate: "strict",
          content_defence: "ask",
          prefix: "fs",
          allowed_tools: ["read_text_file", "list_directory", "write_file", "search_files"],
        },
      },
    ]);
  });

  it("takes the names of the selected tools if no tool is known, and updates its hint with each letter", async () => {
    await open("#/servers");
    await user.click(screen.getByTestId("add-server"));
    await user.click(screen.getByTestId("server-form-tab"));
    await user.click(screen.getByTestId("advanced"));
    await user.selectOptions(screen.getByTestId("server-allowed"), "some");
    const dialog = screen.getByTestId("server-dialog");
    expect(dialog.textContent).toContain("No tool is selected");
    const names = within(dialog).getByLabelText<HTMLTextAreaElement>("Names of the selected tools");
    await user.type(names, "read_file{Enter}");
    expect(dialog.textContent).not.toContain("No tool is selected");
    expect(names.value).toBe("read_file\n");
  });

  it("is saved with its ordered fallback servers and its timeouts", async () => {
    const hub = await open("#/servers/filesystem");
    await user.click(screen.getByTestId("server-edit"));
    await user.click(screen.getByTestId("advanced"));
    await user.selectOptions(screen.getByTestId("server-fallback"), "github");
    await user.selectOptions(screen.getByTestId("server-fallback"), "weather");
    // Moves `weather` up.
    await user.click(
      within(screen.getAllByTestId("fallback-row")[1] as HTMLElement).getAllByRole(
        "button",
      )[0] as HTMLElement,
    );
    await user.type(screen.getByTestId("server-time-call"), "2.5");
    await user.click(screen.getByTestId("tool-time-add"));
    await user.type(screen.getByTestId("tool-time-name"), "search_files");
    await user.type(screen.getByTestId("tool-time-seconds"), "90");
    await user.type(screen.getByTestId("server-cache-results"), "60");
    await user.click(screen.getByTestId("server-save"));
    await advanceTime(1);
    expect(listParams(hub, "servers.update")).toMatchObject([
      {
        id: "filesystem",
        spec: {
          fallback: ["weather", "github"],
          timeouts: { call_ms: 2500, tools: { search_files: 90_000 } },
          cache_results_ms: 60_000,
        },
      },
    ]);
  });

  it("opens if a field in it is invalid, and nothing is sent", async () => {
    const hub = await open("#/servers/filesystem", (fake) => {
      const server = fake.servers.find((server) => server.id === "filesystem");
      if (server) server.spec.prefix = "__";
    });
    await user.click(screen.getByTestId("server-edit"));
    expect(screen.queryByTestId("server-prefix-own")).toBeNull();
    await user.click(screen.getByTestId("server-save"));
    expect(screen.getByTestId("server-prefix-own").getAttribute("aria-invalid")).toBe("true");
    expect(listParams(hub, "servers.update")).toEqual([]);
  });

  it("never offers a server itself as its fallback, and has no lifecycle for a remote server", async () => {
    await open("#/servers/github");
    await user.click(screen.getByTestId("server-edit"));
    await user.click(screen.getByTestId("advanced"));
    const offered = within(screen.getByTestId("server-fallback"))
      .getAllByRole<HTMLOptionElement>("option")
      .map((element) => element.value);
    expect(offered).toEqual(["", "browser", "filesystem", "postgres", "tickets", "weather"]);
    expect(screen.queryByTestId("server-lifecycle")).toBeNull();
    expect(screen.queryByTestId("server-time-stop")).toBeNull();
  });
});
