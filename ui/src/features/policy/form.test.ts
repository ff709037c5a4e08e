import { describe, expect, it } from "vitest";
import type { RuleView, Predicate } from "../../ipc";
import { createForm, hasErrors, toForm, toRule, validateForm, type ConditionForm } from "./form";

const NOW = 1_000_000_000_000;
const view: RuleView = {
  id: "r1",
  text: "",
  created_at: NOW,
  remaining: null,
  suspended: false,
  disabled: false,
  client: "cursor",
  user: "ada",
  server: "github",
  tool: "create_issue",
  kind: null,
  read_only: false,
  conditions: [],
  effect: "allow",
  result: "mask",
  lifetime: { kind: "until_deleted" },
  note: "for the sandbox",
};
const roundTrip = (part: Partial<RuleView>) => toRule(toForm({ ...view, ...part }, NOW), NOW);

describe("a rule in a form", () => {
  it.each<Predicate>([
    { equals: "main" },
    { equals: "5" },
    { equals: 5 },
    { equals: true },
    { equals: null },
    { equals: ["a", 1] },
    { equals: " padded" },
    { one_of: ["a b", "5", 5, false, "two\nlines"] },
    { path_within: "/home/ada" },
    { host: "*.example.com" },
    { between: { min: 1, max: 2.5 } },
    { between: { max: 10 } },
    { matches: " a|b " },
  ])("round-trips with %j", (is) => {
    const rule = roundTrip({ conditions: [{ pointer: "/a~1b", is }] });
    expect(rule.conditions).toEqual([{ pointer: "/a~1b", is }]);
    expect(
      hasErrors(validateForm(toForm({ ...view, conditions: [{ pointer: "", is }] }, NOW))),
    ).toBe(false);
  });

  it("round-trips with its scope, effects, lifetime and note", () => {
    expect(roundTrip({})).toEqual({
      client: "cursor",
      user: "ada",
      server: "github",
      tool: "create_issue",
      kind: null,
      read_only: false,
      conditions: [],
      effect: "allow",
      result: "mask",
      lifetime: { kind: "until_deleted" },
      note: "for the sandbox",
    });
    expect(
      roundTrip({
        client: null,
        user: null,
        server: null,
        tool: null,
        read_only: true,
        effect: null,
      }),
    ).toMatchObject({
      client: null,
      user: null,
      server: null,
      tool: null,
      read_only: true,
      effect: null,
    });
    expect(roundTrip({ lifetime: { kind: "session", session: "s1" } }).lifetime).toEqual({
      kind: "session",
      session: "s1",
    });
    expect(roundTrip({ lifetime: { kind: "until", at: NOW + 600_000 } }).lifetime).toEqual({
      kind: "until",
      at: NOW + 600_000,
    });
  });

  it("round-trips with its kind", () => {
    const wide = { server: "github", tool: null, result: null } as const;
    expect(roundTrip({ ...wide, kind: "resources" })).toMatchObject({ kind: "resources" });
    expect(roundTrip({ ...wide, effect: "deny", kind: "roots" })).toMatchObject({ kind: "roots" });
    expect(toForm({ ...view, ...wide, effect: "deny" }, NOW).covers).toBe("everything");
    expect(roundTrip({ ...wide, effect: "deny" }).kind).toBeNull();
    expect(roundTrip({ ...wide, effect: "deny", kind: "tools" }).kind).toBe("tools");
    expect(roundTrip({ ...wide, effect: "deny", read_only: true }).kind).toBeNull();
    expect(roundTrip({ ...wide, effect: "allow" }).kind).toBeNull();
  });

  it("of a kind other than tools has no tool", () => {
    expect(
      toRule(
        {
          ...createForm(),
          covers: "prompts",
          server: "github",
          tool: "create_issue",
          readOnlyTools: true,
        },
        NOW,
      ),
    ).toMatchObject({ kind: "prompts", server: "github", tool: null, read_only: false });
  });

  it("shows the calls that are left", () => {
    expect(roundTrip({ lifetime: { kind: "calls", count: 10 }, remaining: 7 }).lifetime).toEqual({
      kind: "calls",
      count: 7,
    });
  });

  it("asks again for a number that JSON.parse rounded", () => {
    const form = toForm(
      {
        ...view,
        conditions: [
          { pointer: "/id", is: { equals: JSON.parse("12345678901234567891") as unknown } },
        ],
      },
      NOW,
    );
    expect(form.conditions[0]?.value).toBe("");
    expect(validateForm(form).conditions[0]?.value).toContain("Enter a value");
  });

  it("drops fields that contradict each other", () => {
    expect(
      toRule(
        { ...createForm(), effect: "deny", result: "hold", tool: "x", readOnlyTools: true },
        NOW,
      ),
    ).toMatchObject({ effect: "deny", result: null, tool: null });
  });
});

describe("an error of a rule", () => {
  const validateCondition = (part: Partial<ConditionForm>) =>
    validateForm({
      ...createForm(),
      conditions: [{ pointer: "/p", kind: "equals", value: "x", maximum: "", ...part }],
    }).conditions[0];

  it.each<[Partial<ConditionForm>, string]>([
    [{ pointer: "path" }, "Start with /, such as /path."],
    [{ pointer: "/" }, "Enter the name of the argument"],
    [{ pointer: "/a~b" }, "write ~ as ~0"],
    [{ value: "" }, "Enter a value"],
    [{ value: '{"a":' }, "Not JSON"],
    [{ kind: "one_of", value: "\n" }, "at least one value"],
    [{ kind: "path_within", value: "notes" }, "full path"],
    [{ kind: "host", value: "https://example.com/" }, "only the host"],
    [{ kind: "between", value: "" }, "Enter a minimum"],
    [{ kind: "between", value: "5", maximum: "1" }, "greater than the maximum"],
    [{ kind: "between", value: "five" }, "is not a number"],
    [{ kind: "matches", value: "" }, "Enter a pattern"],
  ])("%j is shown at the field", (part, message) => {
    const errors = validateCondition(part);
    expect(errors?.pointer ?? errors?.value).toContain(message);
  });

  it("is reported for a missing effect and an invalid lifetime", () => {
    expect(validateForm(createForm()).effect).toContain("Choose");
    expect(validateForm({ ...createForm(), effect: "none" }).effect).toContain("Choose");
    expect(validateForm({ ...createForm(), effect: "none", result: "mask" }).effect).toBe(
      undefined,
    );
    expect(validateForm({ ...createForm(), lifetime: "until", minutes: "0" }).lifetime).toContain(
      "at least 1",
    );
    expect(validateForm({ ...createForm(), lifetime: "calls", calls: "1.5" }).lifetime).toContain(
      "at least 1",
    );
    expect(hasErrors(validateForm({ ...createForm(), effect: "ask" }))).toBe(false);
  });
});
