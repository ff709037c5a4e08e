import { expect, it } from "vitest";
import { formatDetails } from "./details";

it("shows the details of an entry in one line", () => {
  const digest = "0123456789abcdef".repeat(4);
  expect(
    formatDetails({ server: "github", by: "file", fields: ["env", "args"], identity: digest }),
  ).toBe("server: github, by: file, fields: env args, identity: 0123456789ab…");
});

it("shows the members of a rule, and counts other objects", () => {
  const rule = { server: "github", tool: null, effect: "deny", conditions: [] };
  expect(formatDetails({ id: "r1", rule })).toBe("id: r1, server: github, effect: deny");
  expect(formatDetails({ preset: { kind: "ask_all" }, removed: [{ id: "r1", rule }] })).toBe(
    "kind: ask_all, removed: 1",
  );
});

it("shows nothing for an entry without details", () => {
  expect(formatDetails({})).toBe("");
  expect(formatDetails(null)).toBe("");
});
