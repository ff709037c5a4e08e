import { fireEvent, screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { asked, open, pass, user, withFakeTime } from "../test/app";

withFakeTime();

const PAUSE = 301;
const rows = () => screen.getAllByTestId("rule-row");
const select = (id: string, value: string) => user.selectOptions(screen.getByTestId(id), value);
const write = (id: string, value: string) =>
  fireEvent.input(screen.getByTestId(id), { target: { value } });

describe("the rules", () => {
  it("say what they do, how long, and why", async () => {
    await open("#/rules");
    expect(rows()).toHaveLength(4);
    expect(rows()[1]?.textContent).toContain("deny delete_file of filesystem");
    expect(rows()[1]?.textContent).toContain("Nothing here may delete.");
    expect(rows()[2]?.textContent).toContain("11 min left");
    expect(rows()[3]?.textContent).toContain("7 of 10 calls left");
    expect(rows()[3]?.textContent).toContain("Suspended");
  });

  it("are removed one by one", async () => {
    const hub = await open("#/rules");
    await user.click(within(rows()[1] as HTMLElement).getByTestId("rule-remove"));
    await pass(1);
    expect(asked(hub, "policy.forget")).toEqual([
      { id: rows()[0]?.dataset["rule"]?.replace(/\d+$/, (n) => String(Number(n) + 1)) },
    ]);
    expect(rows()).toHaveLength(3);
  });

  it("are found by a link from a call", async () => {
    const hub = await open("#/rules");
    const { id = "" } = hub.rules[2] ?? {};
    location.hash = `#/rules/${id}`;
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await pass(1);
    expect(rows().find((row) => row.getAttribute("aria-current") === "true")?.dataset["rule"]).toBe(
      id,
    );
  });

  it("begin with a default", async () => {
    const hub = await open("#/rules");
    await select("setting-default-policy", "deny");
    await pass(1);
    expect(asked(hub, "policy.set_default")).toEqual([{ effect: "deny" }]);
  });
});

describe("a rule's form", () => {
  it("makes a rule of what is chosen, and tries it along", async () => {
    const hub = await open("#/rules");
    await user.click(screen.getByTestId("rule-add"));
    await select("rule-client", "claude-code");
    await select("rule-server", "filesystem");
    await select("rule-tool", "list_directory");
    await select("rule-effect", "ask");
    await select("rule-result", "mask");
    await user.click(screen.getByTestId("condition-add"));
    await write("condition-pointer", "/path");
    await select("condition-kind", "path_within");
    await write("condition-value", "/home/ada/Projects");
    await select("rule-life", "calls");
    await write("rule-calls", "5");
    await write("rule-note", "Only my own.");
    await pass(PAUSE);
    expect(screen.getByTestId("preview-matched").textContent).toContain(
      "It would have matched 4 of 4 past calls.",
    );
    await user.click(screen.getByTestId("rule-save"));
    await pass(1);
    expect(asked(hub, "policy.save")).toEqual([
      {
        id: null,
        rule: {
          client: "claude-code",
          server: "filesystem",
          tool: "list_directory",
          read_only: false,
          effect: "ask",
          result: "mask",
          when: [{ pointer: "/path", is: { path_within: "/home/ada/Projects" } }],
          life: { kind: "calls", count: 5 },
          note: "Only my own.",
        },
      },
    ]);
    expect(screen.queryByTestId("rule-dialog")).toBeNull();
    expect(rows()).toHaveLength(5);
  });

  it("comes back as it was when nothing is changed", async () => {
    const hub = await open("#/rules");
    const rule = hub.rules[3];
    await user.click(within(rows()[3] as HTMLElement).getByTestId("rule-edit"));
    await user.click(screen.getByTestId("rule-save"));
    await pass(1);
    expect(asked(hub, "policy.save")).toEqual([
      {
        id: rule?.id,
        rule: {
          client: "cursor",
          server: "browser",
          tool: "browser_navigate",
          read_only: false,
          effect: "allow",
          result: null,
          when: [{ pointer: "/url", is: { host: "*.example.com" } }],
          life: { kind: "calls", count: 7 },
          note: "",
        },
      },
    ]);
  });

  it("says at the field what is wrong, and saves nothing", async () => {
    const hub = await open("#/rules");
    await user.click(screen.getByTestId("rule-add"));
    await user.click(screen.getByTestId("condition-add"));
    await write("condition-pointer", "path");
    await select("rule-effect", "");
    await user.click(screen.getByTestId("rule-save"));
    expect(screen.getByTestId("condition").textContent).toContain(
      "It begins with /, such as /path.",
    );
    expect(screen.getByText("Choose what happens to the call, or to its result.")).toBeTruthy();
    expect(asked(hub, "policy.save")).toEqual([]);
    await pass(PAUSE);
    expect(asked(hub, "policy.preview").length).toBeLessThanOrEqual(1);
  });

  it("shows what the hub refuses, and stays", async () => {
    const hub = await open("#/rules");
    await user.click(screen.getByTestId("rule-add"));
    hub.failures.set(
      "policy.save",
      new IpcError("invalid", "condition 1 (on '/x'): no regular expression: unclosed group"),
    );
    await user.click(screen.getByTestId("rule-save"));
    await pass(1);
    expect(screen.getByTestId("dialog-error").textContent).toContain("unclosed group");
    await select("rule-server", "github");
    hub.failures.set("policy.preview", new IpcError("invalid", "'life.at' lies in the past"));
    await pass(PAUSE);
    expect(screen.getByTestId("preview-error").textContent).toContain("lies in the past");
  });
});

describe("a whole policy", () => {
  it("is applied after a word more that says what it does", async () => {
    const hub = await open("#/rules");
    await user.click(screen.getByTestId("preset-ask_writes"));
    await user.click(screen.getAllByTestId("preset-server")[1] as HTMLElement);
    await user.click(screen.getByTestId("preset-apply"));
    expect(screen.getByTestId("confirm-dialog").textContent).toContain(
      "Servers you trust: filesystem.",
    );
    expect(asked(hub, "policy.apply_preset")).toEqual([]);
    await user.click(screen.getByTestId("confirm"));
    await pass(1);
    expect(asked(hub, "policy.apply_preset")).toEqual([
      { preset: { kind: "ask_writes", trusted: ["filesystem"] } },
    ]);
    expect(rows().at(-1)?.textContent).toContain("allow read-only tools of filesystem");
  });
});

describe("a file of rules", () => {
  it("is shown to be copied or kept", async () => {
    await open("#/rules");
    await user.click(screen.getByTestId("rules-export"));
    await pass(1);
    expect(screen.getByTestId("export-text").textContent).toContain('"tool": "delete_file"');
  });

  const FILE = '{"default":"deny","rules":[{"effect":"deny","server":"github"}]}';

  it("is added to the rules that are here", async () => {
    const hub = await open("#/rules");
    await user.click(screen.getByTestId("rules-import"));
    await write("import-text", FILE);
    await user.click(screen.getByTestId("import-take"));
    await pass(1);
    expect(asked(hub, "policy.import")).toEqual([{ text: FILE, replace: false }]);
    expect(rows()).toHaveLength(5);
    expect(screen.getByText("1 rule was taken.")).toBeTruthy();
  });

  it("takes the place of all that are here only after a second word", async () => {
    const hub = await open("#/rules");
    await user.click(screen.getByTestId("rules-import"));
    await write("import-text", FILE);
    await user.click(screen.getByTestId("import-replace"));
    await user.click(screen.getByTestId("import-take"));
    expect(asked(hub, "policy.import")).toEqual([]);
    expect(screen.getByTestId("import-sure").textContent).toContain("All 4 rules that are here go");
    await user.click(screen.getByTestId("import-take"));
    await pass(1);
    expect(asked(hub, "policy.import")).toEqual([{ text: FILE, replace: true }]);
    expect(rows()).toHaveLength(1);
  });

  it("that is none is refused with the reason", async () => {
    await open("#/rules");
    await user.click(screen.getByTestId("rules-import"));
    await write("import-text", "[]");
    await user.click(screen.getByTestId("import-take"));
    await pass(1);
    expect(screen.getByTestId("dialog-error").textContent).toContain("this is no file of rules");
  });
});

describe("how often a person is asked", () => {
  it("is told in numbers, as bars, and as a table", async () => {
    await open("#/rules");
    const panel = screen.getByTestId("figures");
    expect(within(panel).getByTestId("prompts-a-day").textContent).toMatch(/^\d/);
    expect(within(panel).getByTestId("approve-rate").textContent).toMatch(/%$/);
    expect(
      within(within(panel).getByRole("table", { name: "Questions a day" })).getAllByRole("row"),
    ).toHaveLength(15);
  });

  it("suggests rules, each made by one click", async () => {
    const hub = await open("#/rules");
    expect(screen.getAllByTestId("suggestion")[0]?.textContent).toContain(
      "You approved 12 calls like it; it would have matched 14 calls so far.",
    );
    await user.click(screen.getAllByTestId("suggestion-accept")[0] as HTMLElement);
    await pass(1);
    expect(asked(hub, "policy.save")).toMatchObject([
      {
        id: null,
        rule: {
          tool: "list_directory",
          when: [{ pointer: "/path", is: { path_within: "/home/ada/Projects" } }],
        },
      },
    ]);
    expect(screen.getAllByTestId("suggestion")).toHaveLength(1);
    await user.click(screen.getByTestId("suggestion-dismiss"));
    expect(screen.queryByTestId("suggestion")).toBeNull();
  });
});
