import { expect, it } from "vitest";
import { formatDetails } from "./details";

it("shows the details of an entry in one line", () => {
  const digest = "0123456789abcdef".repeat(4);
  expect(
    formatDetails({ server: "github", by: "file", fields: ["env", "args"], identity: digest }),
  ).toBe("server: github, by another program, fields: env args, identity: 0123456789ab…");
});

it("shows the members of a rule, and counts other objects", () => {
  const rule = { server: "github", tool: null, effect: "deny", note: "", conditions: [] };
  expect(formatDetails({ id: "r1", rule })).toBe("id: r1, server: github, effect: deny");
  expect(formatDetails({ preset: { kind: "ask_all" }, removed: [{ id: "r1", rule }] })).toBe(
    "kind: ask_all, removed: 1",
  );
});

it("shows each setting that was changed, and the names of definitions", () => {
  const changed = [
    { setting: "cache_ttl_s", old: 600, new: 300 },
    { setting: "oauth_client_metadata_url", old: "", new: "https://a.example/client" },
  ];
  expect(formatDetails({ changed })).toBe(
    "cache_ttl_s: 600 → 300, oauth_client_metadata_url: none → https://a.example/client",
  );
  const definitions = [
    { kind: "tool", name: "read_file", digest: "00" },
    { kind: "prompt", name: "review", digest: "11" },
  ];
  expect(formatDetails({ by: "trust", definitions, more: 0 })).toBe(
    "because the spec says so, definitions: read_file review",
  );
  expect(formatDetails({ definitions, more: 7 })).toBe("definitions: read_file review, more: 7");
});

it("shows nothing for an entry without details", () => {
  expect(formatDetails({})).toBe("");
  expect(formatDetails(null)).toBe("");
});
