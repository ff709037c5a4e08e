import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { asked, open, pass, user, withFakeTime } from "../test/app";

withFakeTime();

const part = (testid: string, key: string, value: string) =>
  screen.getAllByTestId(testid).find((one) => one.dataset[key] === value) as HTMLElement;

describe("a client's profile", () => {
  it("is chosen among the profiles, and taken away again", async () => {
    const hub = await open("#/clients");
    const select = () =>
      within(part("client-row", "client", "claude-code")).getByTestId<HTMLSelectElement>(
        "client-profile",
      );
    expect(
      within(select())
        .getAllByRole("option")
        .map((one) => one.textContent),
    ).toEqual(["Everything", "reviews", "writing"]);
    await user.selectOptions(select(), "writing");
    await pass(1);
    expect(asked(hub, "profiles.assign")).toEqual([{ client: "claude-code", profile: "writing" }]);
    expect(part("profile-row", "profile", "writing").textContent).toContain("claude-code");
    await user.selectOptions(select(), "Everything");
    await pass(1);
    expect(asked(hub, "profiles.assign").at(-1)).toEqual({ client: "claude-code", profile: null });
  });

  it("stays as it is where the hub refuses, with the reason", async () => {
    const hub = await open("#/clients");
    hub.failures.set("profiles.assign", new IpcError("not_found", "there is no profile 'writing'"));
    const row = part("client-row", "client", "cursor");
    await user.selectOptions(within(row).getByTestId("client-profile"), "writing");
    await pass(1);
    expect(row.textContent).toContain("there is no profile 'writing'");
    expect(
      within(row).getByTestId<HTMLSelectElement>("client-profile").selectedOptions[0]?.textContent,
    ).toBe("reviews");
  });
});

describe("a profile", () => {
  it("is made of servers and tools, with what it costs counted along", async () => {
    const hub = await open("#/clients");
    await user.click(screen.getByTestId("profile-new"));
    await user.click(screen.getByTestId("profile-save"));
    expect(screen.getByText(/Choose at least one server/)).toBeTruthy();
    await user.type(screen.getByTestId("profile-name"), "small");
    const sum = () => screen.getByTestId("profile-sum").textContent;
    expect(sum()).toBe("0 tools, no tokens");
    const files = part("profile-server", "server", "filesystem");
    await user.click(within(files).getByTestId("profile-server-in"));
    expect(sum()).toBe("5 tools, about 900 tokens");
    await user.selectOptions(within(files).getByTestId("profile-tools"), "some");
    await user.click(part("profile-tool", "tool", "delete_file"));
    await user.click(part("profile-tool", "tool", "write_file"));
    expect(sum()).toBe("3 tools, about 540 tokens");
    await user.click(
      within(part("profile-server", "server", "github")).getByTestId("profile-server-in"),
    );
    expect(sum()).toBe("5 tools, about 900 tokens");
    await user.click(screen.getByTestId("profile-save"));
    await pass(1);
    expect(asked(hub, "profiles.put")).toEqual([
      {
        profile: {
          name: "small",
          servers: {
            filesystem: ["read_text_file", "list_directory", "search_files"],
            github: null,
          },
        },
      },
    ]);
    expect(
      within(part("profile-row", "profile", "small")).getByTestId("profile-cost").textContent,
    ).toBe("5 tools, about 900 tokens");
  });

  it("is edited under its name", async () => {
    const hub = await open("#/clients");
    await user.click(within(part("profile-row", "profile", "reviews")).getByTestId("profile-edit"));
    expect(screen.queryByTestId("profile-name")).toBeNull();
    await user.click(
      within(part("profile-server", "server", "github")).getByTestId("profile-server-in"),
    );
    await user.click(screen.getByTestId("profile-save"));
    await pass(1);
    expect(asked(hub, "profiles.put")).toEqual([
      { profile: { name: "reviews", servers: { filesystem: ["read_text_file"] } } },
    ]);
  });

  it("is removed only after a second word that says whom it touches", async () => {
    const hub = await open("#/clients");
    await user.click(
      within(part("profile-row", "profile", "reviews")).getByTestId("profile-remove"),
    );
    expect(screen.getByTestId("confirm-dialog").textContent).toContain(
      "cursor will see everything again",
    );
    expect(asked(hub, "profiles.remove")).toEqual([]);
    await user.click(screen.getByTestId("confirm"));
    await pass(1);
    expect(asked(hub, "profiles.remove")).toEqual([{ name: "reviews" }]);
    expect(
      within(part("client-row", "client", "cursor")).getByTestId<HTMLSelectElement>(
        "client-profile",
      ).value,
    ).toBe("");
  });
});

describe("the programs that start servers", () => {
  it("are looked for when it is asked, each with what to do", async () => {
    const hub = await open("#/settings");
    expect(asked(hub, "servers.check_runtimes")).toEqual([]);
    await user.click(screen.getByTestId("runtimes-check"));
    expect(within(screen.getByTestId("runtimes")).getByRole("status").textContent).toContain(
      "Asking each program",
    );
    await pass(1000);
    expect(part("runtime-row", "runtime", "npx").textContent).toContain("10.8.2");
    expect(part("runtime-row", "runtime", "docker").textContent).toContain(
      "Start Docker, then look again.",
    );
  });
});
