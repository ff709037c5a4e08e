import { describe, expect, it } from "vitest";
import type { RuleView, Test } from "../../ipc";
import { emptyForm, faultsOf, formOf, hasFaults, ruleOf, type ConditionForm } from "./form";

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
const round = (part: Partial<RuleView>) => ruleOf(formOf({ ...view, ...part }, NOW), NOW);

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
  ])("comes back as it was with %j", (is) => {
    const rule = round({ when: [{ pointer: "/a~1b", is }] });
    expect(rule.when).toEqual([{ pointer: "/a~1b", is }]);
    expect(hasFaults(faultsOf(formOf({ ...view, when: [{ pointer: "", is }] }, NOW)))).toBe(false);
  });

  it("comes back with its scope, its effects, its life and its note", () => {
    expect(round({})).toEqual({
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
      round({ client: null, server: null, tool: null, read_only: true, effect: null }),
    ).toMatchObject({ client: null, server: null, tool: null, read_only: true, effect: null });
    expect(round({ life: { kind: "session", session: "s1" } }).life).toEqual({
      kind: "session",
      session: "s1",
    });
    expect(round({ life: { kind: "until", at: NOW + 600_000 } }).life).toEqual({
      kind: "until",
      at: NOW + 600_000,
    });
  });

  it("has only as many calls as it has left", () => {
    expect(round({ life: { kind: "calls", count: 10 }, left: 7 }).life).toEqual({
      kind: "calls",
      count: 7,
    });
  });

  it("asks for a number anew that has lost digits on its way here", () => {
    const form = formOf(
      {
        ...view,
        when: [{ pointer: "/id", is: { equals: JSON.parse("12345678901234567891") as unknown } }],
      },
      NOW,
    );
    expect(form.when[0]?.value).toBe("");
    expect(faultsOf(form).when[0]?.value).toContain("Write a value");
  });

  it("leaves out what does not go together", () => {
    expect(
      ruleOf({ ...emptyForm(), effect: "deny", result: "hold", tool: "x", readOnly: true }, NOW),
    ).toMatchObject({ effect: "deny", result: null, tool: null });
  });
});

describe("what is wrong with a rule", () => {
  const fault = (part: Partial<ConditionForm>) =>
    faultsOf({
      ...emptyForm(),
      when: [{ pointer: "/p", kind: "equals", value: "x", most: "", ...part }],
    }).when[0];

  it.each<[Partial<ConditionForm>, string]>([
    [{ pointer: "path" }, "It begins with /, such as /path."],
    [{ pointer: "/" }, "Name the argument"],
    [{ pointer: "/a~b" }, "Write ~ in a key as ~0"],
    [{ value: "" }, "Write a value"],
    [{ value: '{"a":' }, "Not JSON"],
    [{ kind: "one_of", value: "\n" }, "at least one value"],
    [{ kind: "path_within", value: "notes" }, "in full"],
    [{ kind: "host", value: "https://example.com/" }, "Only the host"],
    [{ kind: "between", value: "" }, "at least one end"],
    [{ kind: "between", value: "5", most: "1" }, "more than the most"],
    [{ kind: "between", value: "five" }, "is no number"],
    [{ kind: "matches", value: "" }, "Write a pattern"],
  ])("%j is said at the field", (part, words) => {
    const found = fault(part);
    expect(found?.pointer ?? found?.value).toContain(words);
  });

  it("is that it does nothing, or ends before it begins", () => {
    expect(faultsOf({ ...emptyForm(), effect: "" }).effect).toContain("Choose");
    expect(faultsOf({ ...emptyForm(), life: "until", minutes: "0" }).life).toContain("at least 1");
    expect(faultsOf({ ...emptyForm(), life: "calls", calls: "1.5" }).life).toContain("at least 1");
    expect(hasFaults(faultsOf(emptyForm()))).toBe(false);
  });
});
