import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { listParams, open, advanceTime, user, withFakeTime } from "../test/app";

withFakeTime();

/** Returns the element with this test id whose attribute `data-KEY` has this value. */
const part = (testid: string, key: string, value: string) =>
  screen.getAllByTestId(testid).find((element) => element.dataset[key] === value) as HTMLElement;

describe("a client's profile", () => {
  it("is chosen from the profiles, and removed again", async () => {
    const hub = await open("#/clients");
    const select = () =>
      within(part("client-row", "client", "claude-code")).getByTestId<HTMLSelectElement>(
        "client-profile",
      );
    expect(
      within(select())
        .getAllByRole("option")
        .map((element) => element.textContent),
    ).toEqual(["Everything", "reviews", "writing"]);
    await user.selectOptions(select(), "writing");
    await advanceTime(1);
    expect(listParams(hub, "profiles.assign")).toEqual([
      { client: "claude-code", profile: "writing" },
    ]);
    expect(part("profile-row", "profile", "writing").textContent).toContain("claude-code");
    await user.selectOptions(select(), "Everything");
    await advanceTime(1);
    expect(listParams(hub, "profiles.assign").at(-1)).toEqual({
      client: "claude-code",
      profile: null,
    });
  });

  it("stays unchanged if the hub refuses, with the reason", async () => {
    const hub = await open("#/clients");
    hub.failures.set("profiles.assign", new IpcError("not_found", "there is no profile 'writing'"));
    const row = part("client-row", "client", "cursor");
    await user.selectOptions(within(row).getByTestId("client-profile"), "writing");
    await advanceTime(1);
    expect(row.textContent).toContain("there is no profile 'writing'");
    expect(
      within(row).getByTestId<HTMLSelectElement>("client-profile").selectedOptions[0]?.textContent,
    ).toBe("reviews");
  });
});

describe("a profile", () => {
  it("consists of servers and tools, and shows its cost", async () => {
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
    await user.type(screen.getByTestId("profile-folder"), "/home/me/src ");
    await user.click(screen.getByTestId("profile-save"));
    await advanceTime(1);
    expect(listParams(hub, "profiles.put")).toEqual([
      {
        profile: {
          name: "small",
          servers: {
            filesystem: ["read_text_file", "list_directory", "search_files"],
            github: null,
          },
          folder: "/home/me/src",
        },
      },
    ]);
    expect(part("profile-row", "profile", "small").textContent).toContain("in /home/me/src");
    expect(
      within(part("profile-row", "profile", "small")).getByTestId("profile-cost").textContent,
    ).toBe("5 tools, about 900 tokens");
  });

  it("keeps its name when it is edited", async () => {
    const hub = await open("#/clients");
    await user.click(within(part("profile-row", "profile", "reviews")).getByTestId("profile-edit"));
    expect(screen.queryByTestId("profile-name")).toBeNull();
    await user.click(
      within(part("profile-server", "server", "github")).getByTestId("profile-server-in"),
    );
    await user.click(screen.getByTestId("profile-save"));
    await advanceTime(1);
    expect(listParams(hub, "profiles.put")).toEqual([
      {
        profile: {
          name: "reviews",
          servers: { filesystem: ["read_text_file"] },
          folder: "/home/me/src/website",
        },
      },
    ]);
  });

  it("is removed only after a confirmation that names its clients", async () => {
    const hub = await open("#/clients");
    await user.click(
      within(part("profile-row", "profile", "reviews")).getByTestId("profile-remove"),
    );
    expect(screen.getByTestId("confirm-dialog").textContent).toContain(
      "cursor will see nothing until you choose another profile",
    );
    expect(listParams(hub, "profiles.remove")).toEqual([]);
    await user.click(screen.getByTestId("confirm"));
    await advanceTime(1);
    expect(listParams(hub, "profiles.remove")).toEqual([{ name: "reviews" }]);
    expect(
      within(part("client-row", "client", "cursor")).getByTestId<HTMLSelectElement>(
        "client-profile",
      ).value,
    ).toBe("removed");
  });

  it("that is unused is removed without asking, and the removal can be undone", async () => {
    const hub = await open("#/clients", (fake) => {
      for (const profile of fake.profiles) profile.folder = null;
      for (const client of fake.clients) client.profile = null;
    });
    const remove = async () => {
      await user.click(
        within(part("profile-row", "profile", "reviews")).getByTestId("profile-remove"),
      );
      await advanceTime(1);
    };
    await remove();
    await user.click(screen.getByTestId("removal-undo"));
    await advanceTime(20_000);
    expect(listParams(hub, "profiles.remove")).toEqual([]);
    await remove();
    await advanceTime(10_000);
    expect(listParams(hub, "profiles.remove")).toEqual([{ name: "reviews" }]);
  });
});

describe("the runtimes", () => {
  it("are checked on request, each with its remedy", async () => {
    const hub = await open("#/settings");
    expect(listParams(hub, "servers.check_runtimes")).toEqual([]);
    await user.click(screen.getByTestId("runtimes-check"));
    expect(within(screen.getByTestId("runtimes")).getByRole("status").textContent).toContain(
      "Checking the version of each runtime",
    );
    await advanceTime(1000);
    expect(part("runtime-row", "runtime", "npx").textContent).toContain("10.8.2");
    expect(part("runtime-row", "runtime", "docker").textContent).toContain(
      "Start Docker, then check again.",
    );
  });
});
