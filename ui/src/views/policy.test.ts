import { fireEvent, screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError, type Call } from "../ipc";
import { EMPTY_RULE, toRuleView } from "../ipc/fake/policy";
import { listParams, open, advanceTime, user, withFakeTime } from "../test/app";

withFakeTime();

/** Longer than the debounce of the dry run. */
const PAST_DEBOUNCE_MS = 301;
const rows = () => screen.getAllByTestId("rule-row");
const select = (id: string, value: string) => user.selectOptions(screen.getByTestId(id), value);
const write = (id: string, value: string) =>
  fireEvent.input(screen.getByTestId(id), { target: { value } });

describe("the list of rules", () => {
  it("shows each rule with its effect, its lifetime and its note", async () => {
    await open("#/policy");
    expect(rows()).toHaveLength(4);
    expect(rows()[1]?.textContent).toContain("deny delete_file of filesystem");
    expect(rows()[1]?.textContent).toContain("Nothing here may delete.");
    expect(rows()[2]?.textContent).toContain("11 min left");
    expect(rows()[3]?.textContent).toContain("7 of 10 calls left");
    expect(rows()[3]?.textContent).toContain("Suspended");
  });

  it("switches a deleted rule off at once, and deletes it after ten seconds", async () => {
    const hub = await open("#/policy");
    const { id } = hub.rules[1] ?? {};
    await user.click(within(rows()[1] as HTMLElement).getByTestId("rule-delete"));
    await advanceTime(1);
    expect(rows()).toHaveLength(3);
    expect(hub.rules[1]).toMatchObject({ id, disabled: true });
    // The notice is on every screen.
    location.hash = "#/calls";
    await advanceTime(1);
    expect(screen.getByTestId("removal-pending").textContent).toContain(
      "1 rule is switched off, and will be deleted in 10 seconds.",
    );
    expect(listParams(hub, "policy.delete_rule")).toEqual([]);
    await advanceTime(10_000);
    expect(listParams(hub, "policy.delete_rule")).toEqual([{ id }]);
    expect(screen.queryByTestId("removal-pending")).toBeNull();
  });

  it("leaves a rule as it was if its deletion is undone", async () => {
    const hub = await open("#/policy", ({ rules }) => {
      if (rules[2]) rules[2].disabled = true;
    });
    const deleteSecond = async () => {
      await user.click(within(rows()[1] as HTMLElement).getByTestId("rule-delete"));
      await advanceTime(1);
    };
    // The second rule is on. The third rule is off: the first deletion moves it to the second row.
    await deleteSecond();
    await deleteSecond();
    expect(rows()).toHaveLength(2);
    await user.click(screen.getByTestId("removal-undo"));
    await advanceTime(20_000);
    expect(rows()).toHaveLength(4);
    expect(hub.rules.map((rule) => Boolean(rule.disabled))).toEqual([false, false, true, false]);
    expect(listParams(hub, "policy.delete_rule")).toEqual([]);
  });

  it("says that undoing failed if a rule stays switched off", async () => {
    const hub = await open("#/policy");
    await user.click(within(rows()[1] as HTMLElement).getByTestId("rule-delete"));
    await advanceTime(1);
    hub.failures.set("policy.enable_rule", new IpcError("internal", "The disk is full."));
    await user.click(screen.getByTestId("removal-undo"));
    await advanceTime(20_000);
    expect(screen.getByTestId("removal-failed").textContent).toContain(
      "Undoing the removal failed: The disk is full.",
    );
    expect(rows()).toHaveLength(4);
    expect(listParams(hub, "policy.delete_rule")).toEqual([]);
  });

  it("lists a rule again if it cannot be switched off", async () => {
    const hub = await open("#/policy");
    hub.failures.set("policy.disable_rule", new IpcError("internal", "The disk is full."));
    await user.click(within(rows()[1] as HTMLElement).getByTestId("rule-delete"));
    await advanceTime(20_000);
    expect(screen.getByTestId("rules-error").textContent).toContain("The disk is full.");
    expect(rows()).toHaveLength(4);
    expect(listParams(hub, "policy.delete_rule")).toEqual([]);
  });

  it("switches a rule off and on", async () => {
    const hub = await open("#/policy");
    const { id } = hub.rules[1] ?? {};
    const toggle = () => within(rows()[1] as HTMLElement).getByTestId("rule-enabled");
    await user.click(toggle());
    await advanceTime(1);
    expect(listParams(hub, "policy.disable_rule")).toEqual([{ id }]);
    expect(rows()[1]?.textContent).toContain("Off: this rule matches nothing.");
    await user.click(toggle());
    await advanceTime(1);
    expect(listParams(hub, "policy.enable_rule")).toEqual([{ id }]);
    expect(rows()[1]?.textContent).not.toContain("Off");
  });

  it("finds rules by their words, and shows their number", async () => {
    await open("#/policy");
    await write("rules-search", "filesystem DELETE");
    expect(rows()).toHaveLength(1);
    expect(rows()[0]?.textContent).toContain("deny delete_file of filesystem");
    expect(screen.getByTestId("rules-found").textContent).toBe("1 of 4 rules");
    await write("rules-search", "nothing like this");
    expect(screen.queryAllByTestId("rule-row")).toHaveLength(0);
    expect(screen.getByTestId("rules-none-found").textContent).toContain("No rule matches");
  });

  it("sorts the rules, and groups them by server", async () => {
    await open("#/policy");
    await select("rules-sort", "effect");
    expect(rows().map((row) => row.dataset["effect"])[0]).toBe("deny");
    await select("rules-sort", "newest");
    expect(rows()[0]?.textContent).toContain("7 of 10 calls left");
    await select("rules-sort", "server");
    const section = within(rows()[0]?.closest("section") as HTMLElement);
    const headings = section
      .getAllByRole("heading", { level: 3 })
      .map(({ textContent }) => textContent);
    expect(headings).toEqual(headings.toSorted());
    expect(headings).toContain("filesystem");
  });

  it("highlights the rule that a link names", async () => {
    const hub = await open("#/policy");
    const { id = "" } = hub.rules[2] ?? {};
    location.hash = `#/policy/${id}`;
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await advanceTime(1);
    expect(rows().find((row) => row.getAttribute("aria-current") === "true")?.dataset["rule"]).toBe(
      id,
    );
  });

  it("shows which kind of requests each rule covers", async () => {
    await open("#/policy", (hub) => {
      hub.rules = [
        toRuleView({ ...EMPTY_RULE, effect: "allow", server: "github", kind: "prompts" }),
        toRuleView({ ...EMPTY_RULE, effect: "deny", server: "weather" }),
        toRuleView({ ...EMPTY_RULE, effect: "deny", server: "weather", kind: "tools" }),
        toRuleView({
          ...EMPTY_RULE,
          effect: "allow",
          kind: "roots",
          lifetime: { kind: "calls", count: 3 },
        }),
      ];
    });
    const kinds = rows().map((row) => within(row).getByTestId("rule-kind").textContent);
    expect(kinds).toEqual(["Prompts", "Everything", "Tools", "Roots"]);
    expect(rows()[1]?.textContent).toContain("deny everything of weather");
    expect(rows()[3]?.textContent).toContain("3 of 3 requests left");
  });
});

describe("the defaults", () => {
  it.each([
    ["Tools", "tools", "ask"],
    ["Prompts", "prompts", "allow"],
    ["Resources", "resources", "allow"],
    ["Sampling", "sampling", "allow"],
    ["Elicitation", "elicitation", "allow"],
    ["Roots", "roots", "allow"],
  ])("of %s can be changed", async (label, kind, before) => {
    const hub = await open("#/policy");
    const field = screen.getByLabelText<HTMLSelectElement>(new RegExp(`^${label}`));
    expect(field.value).toBe(before);
    await user.selectOptions(field, "deny");
    await advanceTime(1);
    expect(listParams(hub, "policy.set_default")).toEqual([{ effect: "deny", kind }]);
    expect(field.value).toBe("deny");
    expect(hub.defaults).toMatchObject({ [kind]: "deny" });
  });

  it("explain each kind", async () => {
    await open("#/policy");
    expect(screen.getByLabelText(/^Sampling/).closest("li")?.textContent).toContain(
      "A server asks for a message from the client's model.",
    );
  });

  it("stay as they were if the hub refuses a change", async () => {
    const hub = await open("#/policy");
    hub.failures.set(
      "policy.set_default",
      new IpcError("internal", "The store cannot be written."),
    );
    await select("default-roots", "deny");
    await advanceTime(1);
    expect(screen.getByTestId("default-error").textContent).toContain("cannot be written");
    expect(screen.getByTestId<HTMLSelectElement>("default-roots").value).toBe("allow");
  });
});

describe("an allow for all calls by default", () => {
  it("is set only after a confirmation", async () => {
    const hub = await open("#/policy");
    await select("default-tools", "allow");
    expect(screen.getByTestId<HTMLSelectElement>("default-tools").value).toBe("ask");
    expect(listParams(hub, "policy.set_default")).toEqual([]);
    await user.click(screen.getByTestId("confirm"));
    await advanceTime(1);
    expect(listParams(hub, "policy.set_default")).toEqual([{ effect: "allow", kind: "tools" }]);
    expect(screen.getByTestId<HTMLSelectElement>("default-tools").value).toBe("allow");
  });
});

describe("a rule's form", () => {
  it("creates the chosen rule, with a dry run", async () => {
    const hub = await open("#/policy");
    await user.click(screen.getByTestId("rule-add"));
    await select("rule-client", "claude-code");
    await select("rule-user", "default");
    await select("rule-server", "filesystem");
    await select("rule-tool", "list_directory");
    await select("rule-effect", "ask");
    await select("rule-result", "mask");
    await user.click(screen.getByTestId("condition-add"));
    await write("condition-pointer", "/path");
    await select("condition-kind", "path_within");
    await write("condition-value", "/home/ada/Projects");
    await select("rule-lifetime", "calls");
    await write("rule-calls", "5");
    await write("rule-note", "Only my own.");
    await advanceTime(PAST_DEBOUNCE_MS);
    expect(screen.getByTestId("dry-run-matched").textContent).toContain(
      "This rule would have matched 4 of 4 past calls.",
    );
    await user.click(screen.getByTestId("rule-save"));
    await advanceTime(1);
    expect(listParams(hub, "policy.save")).toEqual([
      {
        id: null,
        rule: {
          client: "claude-code",
          user: "default",
          server: "filesystem",
          tool: "list_directory",
          kind: null,
          read_only: false,
          effect: "ask",
          result: "mask",
          conditions: [{ pointer: "/path", is: { path_within: "/home/ada/Projects" } }],
          lifetime: { kind: "calls", count: 5 },
          note: "Only my own.",
        },
      },
    ]);
    expect(screen.queryByTestId("rule-dialog")).toBeNull();
    expect(rows()).toHaveLength(5);
  });

  it("has no effect at first, and cannot be saved before an effect is chosen", async () => {
    const hub = await open("#/policy");
    await user.click(screen.getByTestId("rule-add"));
    expect(screen.getByTestId<HTMLSelectElement>("rule-effect").value).toBe("");
    await user.click(screen.getByTestId("rule-save"));
    await advanceTime(1);
    expect(listParams(hub, "policy.save")).toEqual([]);
    expect(screen.getByText(/Choose an effect on the call/)).toBeTruthy();
  });

  it("asks again before a rule allows all tools of all servers", async () => {
    const hub = await open("#/policy");
    await user.click(screen.getByTestId("rule-add"));
    await select("rule-effect", "allow");
    await user.click(screen.getByTestId("rule-save"));
    await advanceTime(1);
    expect(listParams(hub, "policy.save")).toEqual([]);
    expect(screen.getByTestId("rule-warnings").textContent).toContain(
      "all tools of all servers run without asking",
    );
    expect(screen.getByTestId("rule-save").textContent).toContain("Save rule anyway");
    await select("rule-client", "claude-code");
    expect(screen.queryByTestId("rule-warnings")).toBeNull();
    await user.click(screen.getByTestId("rule-save"));
    await advanceTime(1);
    await user.click(screen.getByTestId("rule-save"));
    await advanceTime(1);
    expect(listParams(hub, "policy.save")).toMatchObject([
      { rule: { client: "claude-code", effect: "allow", server: null } },
    ]);
  });

  it("saves an unchanged rule unchanged", async () => {
    const hub = await open("#/policy");
    const rule = hub.rules[3];
    await user.click(within(rows()[3] as HTMLElement).getByTestId("rule-edit"));
    await user.click(screen.getByTestId("rule-save"));
    await advanceTime(1);
    expect(listParams(hub, "policy.save")).toEqual([
      {
        id: rule?.id,
        rule: {
          client: "cursor",
          user: null,
          server: "browser",
          tool: "browser_navigate",
          kind: null,
          read_only: false,
          effect: "allow",
          result: null,
          conditions: [{ pointer: "/url", is: { host: "*.example.com" } }],
          // Seven of the ten calls are left.
          lifetime: { kind: "calls", count: 7 },
          note: "",
        },
      },
    ]);
  });

  it("covers one kind of requests, without a tool", async () => {
    const hub = await open("#/policy");
    await user.click(screen.getByTestId("rule-add"));
    await select("rule-server", "filesystem");
    await select("rule-tool", "list_directory");
    await select("rule-covers", "resources");
    expect(screen.queryByTestId("rule-tool")).toBeNull();
    expect(screen.queryByTestId("rule-read-only")).toBeNull();
    await select("rule-effect", "allow");
    expect(screen.getByText("Allow the request")).toBeTruthy();
    await user.click(screen.getByTestId("condition-add"));
    expect(screen.getByTestId<HTMLInputElement>("condition-pointer").value).toBe("/uri");
    expect(screen.getByText(/apply to the params of the request, such as \/uri/)).toBeTruthy();
    await select("condition-kind", "matches");
    await write("condition-value", "file:///home/.*");
    await user.click(screen.getByTestId("rule-save"));
    await advanceTime(1);
    expect(listParams(hub, "policy.save")).toMatchObject([
      {
        rule: {
          server: "filesystem",
          tool: null,
          kind: "resources",
          read_only: false,
          conditions: [{ pointer: "/uri", is: { matches: "file:///home/.*" } }],
        },
      },
    ]);
  });

  it("covers everything only if it denies", async () => {
    const hub = await open("#/policy");
    await user.click(screen.getByTestId("rule-add"));
    const covers = screen.getByTestId<HTMLSelectElement>("rule-covers");
    expect(within(covers).queryByText("Everything")).toBeNull();
    await select("rule-effect", "deny");
    await select("rule-covers", "everything");
    expect(screen.queryByTestId("condition-add")).toBeNull();
    await select("rule-effect", "ask");
    expect(covers.value).toBe("tools");
    await select("rule-effect", "deny");
    await select("rule-covers", "everything");
    await select("rule-server", "github");
    await user.click(screen.getByTestId("rule-save"));
    await advanceTime(1);
    expect(listParams(hub, "policy.save")).toMatchObject([
      { rule: { effect: "deny", server: "github", tool: null, kind: null, conditions: [] } },
    ]);
    expect(rows().at(-1)?.textContent).toContain("deny everything of github");
  });

  it("that denies all tools names its kind, so that it does not deny everything", async () => {
    const hub = await open("#/policy");
    await user.click(screen.getByTestId("rule-add"));
    await select("rule-effect", "deny");
    await select("rule-server", "github");
    await user.click(screen.getByTestId("rule-save"));
    await advanceTime(1);
    expect(listParams(hub, "policy.save")).toMatchObject([{ rule: { kind: "tools" } }]);
    expect(rows().at(-1)?.textContent).toContain("deny all tools of github");
  });

  it("shows an error at its field, and saves nothing", async () => {
    const hub = await open("#/policy");
    await user.click(screen.getByTestId("rule-add"));
    await user.click(screen.getByTestId("condition-add"));
    await write("condition-pointer", "path");
    await select("rule-effect", "");
    await user.click(screen.getByTestId("rule-save"));
    expect(screen.getByTestId("condition").textContent).toContain("Start with /, such as /path.");
    expect(screen.getByText("Choose an effect on the call or on the result.")).toBeTruthy();
    expect(listParams(hub, "policy.save")).toEqual([]);
    await advanceTime(PAST_DEBOUNCE_MS);
    expect(listParams(hub, "policy.preview").length).toBeLessThanOrEqual(1);
  });

  it("stays open with the reason if the hub refuses the rule, and says why a dry run failed", async () => {
    const hub = await open("#/policy");
    await user.click(screen.getByTestId("rule-add"));
    await select("rule-effect", "ask");
    hub.failures.set(
      "policy.save",
      new IpcError(
        "invalid",
        "condition 1 (on '/x'): the regular expression is invalid: unclosed group",
      ),
    );
    await user.click(screen.getByTestId("rule-save"));
    await advanceTime(1);
    expect(screen.getByTestId("dialog-error").textContent).toContain("unclosed group");
    await select("rule-server", "github");
    hub.failures.set("policy.preview", new IpcError("invalid", "'lifetime.at' is in the past"));
    await advanceTime(PAST_DEBOUNCE_MS);
    expect(screen.getByTestId("dry-run-error").textContent).toContain("is in the past");
  });
});

describe("a preset", () => {
  it("is applied after a confirmation that says what it does", async () => {
    const hub = await open("#/policy");
    await user.click(screen.getByTestId("preset-ask_writes"));
    await user.click(screen.getAllByTestId("preset-server")[1] as HTMLElement);
    await user.click(screen.getByTestId("preset-apply"));
    expect(screen.getByTestId("confirm-dialog").textContent).toContain(
      "Trusted servers: filesystem",
    );
    expect(listParams(hub, "policy.apply_preset")).toEqual([]);
    await user.click(screen.getByTestId("confirm"));
    await advanceTime(1);
    expect(listParams(hub, "policy.apply_preset")).toEqual([
      { preset: { kind: "ask_writes", trusted: ["filesystem"] } },
    ]);
    expect(rows().at(-1)?.textContent).toContain("allow read-only tools of filesystem");
  });
});

describe("import and export", () => {
  it("shows the exported rules", async () => {
    await open("#/policy");
    await user.click(screen.getByTestId("rules-export"));
    await advanceTime(1);
    expect(screen.getByTestId("export-text").textContent).toContain('"tool": "delete_file"');
  });

  const FILE = '{"defaults":{"tools":"deny"},"rules":[{"effect":"deny","server":"github"}]}';

  it("adds the imported rules to the current rules", async () => {
    const hub = await open("#/policy");
    await user.click(screen.getByTestId("rules-import"));
    await write("import-text", FILE);
    await user.click(screen.getByTestId("import-submit"));
    await advanceTime(1);
    expect(listParams(hub, "policy.import")).toEqual([{ text: FILE, replace: false }]);
    expect(rows()).toHaveLength(5);
    expect(screen.getByText("Imported 1 rule.")).toBeTruthy();
  });

  it("replaces the current rules only after a confirmation", async () => {
    const hub = await open("#/policy");
    await user.click(screen.getByTestId("rules-import"));
    await write("import-text", FILE);
    await user.click(screen.getByTestId("import-replace"));
    await user.click(screen.getByTestId("import-submit"));
    expect(listParams(hub, "policy.import")).toEqual([]);
    expect(screen.getByTestId("import-confirm").textContent).toContain(
      "deletes all 4 current rules",
    );
    await user.click(screen.getByTestId("import-submit"));
    await advanceTime(1);
    expect(listParams(hub, "policy.import")).toEqual([{ text: FILE, replace: true }]);
    expect(rows()).toHaveLength(1);
  });

  it("rejects text that is not a policy file, with the reason", async () => {
    await open("#/policy");
    await user.click(screen.getByTestId("rules-import"));
    await write("import-text", "[]");
    await user.click(screen.getByTestId("import-submit"));
    await advanceTime(1);
    expect(screen.getByTestId("dialog-error").textContent).toContain(
      "this is not a valid policy file",
    );
  });
});

describe("the stats of approval requests", () => {
  it("are shown as numbers, as a chart, and as a table", async () => {
    await open("#/policy");
    const panel = screen.getByTestId("policy-stats");
    expect(within(panel).getByTestId("requests-per-day").textContent).toMatch(/^\d/);
    expect(within(panel).getByTestId("approve-rate").textContent).toMatch(/%$/);
    expect(screen.queryByTestId("policy-stats-partial")).toBeNull();
    // The header, and a row for each day of two weeks.
    expect(
      within(within(panel).getByRole("table", { name: "Approval requests per day" })).getAllByRole(
        "row",
      ),
    ).toHaveLength(15);
    const chart = within(panel).getByTestId("policy-chart");
    for (const kind of ["Approved", "Denied", "Missed"]) expect(chart.textContent).toContain(kind);
    const table = within(chart).getByRole("button", { name: "Table: Approval requests per day" });
    await user.click(table);
    expect(table.getAttribute("aria-pressed")).toBe("true");
  });

  it("say that older requests are missing if there are too many", async () => {
    await open("#/policy", (hub) => {
      hub.calls = Array.from({ length: 5_000 }, () => hub.calls[0] as Call);
    });
    expect(screen.getByTestId("policy-stats-partial").textContent).toContain("Older requests");
  });

  it("suggest rules, each added by one click", async () => {
    const hub = await open("#/policy");
    expect(screen.getAllByTestId("suggestion")[0]?.textContent).toContain(
      "You approved 12 calls that this rule matches. The rule would have matched 14 past calls in all.",
    );
    await user.click(screen.getAllByTestId("suggestion-add")[0] as HTMLElement);
    await advanceTime(1);
    expect(listParams(hub, "policy.save")).toMatchObject([
      {
        id: null,
        rule: {
          tool: "list_directory",
          conditions: [{ pointer: "/path", is: { path_within: "/home/ada/Projects" } }],
        },
      },
    ]);
    expect(screen.getAllByTestId("suggestion")).toHaveLength(1);
    await user.click(screen.getByTestId("suggestion-dismiss"));
    expect(screen.queryByTestId("suggestion")).toBeNull();
  });
});
