import { describe, expect, it } from "vitest";
import type { RuleView, Test } from "../../ipc";
import { createForm, hasFaults, toForm, toRule, validateForm, type ConditionForm } from "./form";

const NOW = 1_000_000_000_000;
const view: RuleView = {
  id: "r1",
  words: "",
  created_at: NOW,
  left: null,
  suspended: false,
  client: "cursor",
  server: "github",
  tool: "create_issue",
  read_only: false,
  when: [],
  effect: "allow",
  result: "mask",
  life: { kind: "until_revoked" },
  note: "for the sandbox",
};
const roundTrip = (part: Partial<RuleView>) => toRule(toForm({ ...view, ...part }, NOW), NOW);

describe("a rule in a form", () => {
  it.each<Test>([
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
    const rule = roundTrip({ when: [{ pointer: "/a~1b", is }] });
    expect(rule.when).toEqual([{ pointer: "/a~1b", is }]);
    expect(hasFaults(validateForm(toForm({ ...view, when: [{ pointer: "", is }] }, NOW)))).toBe(
      false,
    );
  });

  it("round-trips with its scope, effects, lifetime and note", () => {
    expect(roundTrip({})).toEqual({
      client: "cursor",
      server: "github",
      tool: "create_issue",
      read_only: false,
      when: [],
      effect: "allow",
      result: "mask",
      life: { kind: "until_revoked" },
      note: "for the sandbox",
    });
    expect(
      roundTrip({ client: null, server: null, tool: null, read_only: true, effect: null }),
    ).toMatchObject({ client: null, server: null, tool: null, read_only: true, effect: null });
    expect(roundTrip({ life: { kind: "session", session: "s1" } }).life).toEqual({
      kind: "session",
      session: "s1",
    });
    expect(roundTrip({ life: { kind: "until", at: NOW + 600_000 } }).life).toEqual({
      kind: "until",
      at: NOW + 600_000,
    });
  });

  it("shows the calls that are left", () => {
    expect(roundTrip({ life: { kind: "calls", count: 10 }, left: 7 }).life).toEqual({
      kind: "calls",
      count: 7,
    });
  });

  it("asks again for a number that JSON.parse rounded", () => {
    const form = toForm(
      {
        ...view,
        when: [{ pointer: "/id", is: { equals: JSON.parse("12345678901234567891") as unknown } }],
      },
      NOW,
    );
    expect(form.when[0]?.value).toBe("");
    expect(validateForm(form).when[0]?.value).toContain("Enter a value");
  });

  it("drops fields that contradict each other", () => {
    expect(
      toRule({ ...createForm(), effect: "deny", result: "hold", tool: "x", readOnly: true }, NOW),
    ).toMatchObject({ effect: "deny", result: null, tool: null });
  });
});

describe("a fault of a rule", () => {
  const fault = (part: Partial<ConditionForm>) =>
    validateForm({
      ...createForm(),
      when: [{ pointer: "/p", kind: "equals", value: "x", maximum: "", ...part }],
    }).when[0];

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
  ])("%j is shown at the field", (part, words) => {
    const found = fault(part);
    expect(found?.pointer ?? found?.value).toContain(words);
  });

  it("is that the rule has no effect or no lifetime", () => {
    expect(validateForm({ ...createForm(), effect: "" }).effect).toContain("Choose");
    expect(validateForm({ ...createForm(), life: "until", minutes: "0" }).life).toContain(
      "at least 1",
    );
    expect(validateForm({ ...createForm(), life: "calls", calls: "1.5" }).life).toContain(
      "at least 1",
    );
    expect(hasFaults(validateForm(createForm()))).toBe(false);
  });
});
