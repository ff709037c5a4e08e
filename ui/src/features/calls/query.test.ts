import { expect, it } from "vitest";
import * as data from "../../ipc/fake/data";
import { formatCsv, formatQuery, readQuery } from "./query";

it("valid filters survive a round trip through the URL, and invalid filters do not", () => {
  const url = "client=a%26b&decision=denied&outcome=ok&text=x+y&from=2026-11-01&to=2026-11-02";
  const query = readQuery(new URLSearchParams(url));
  expect(query.client).toBe("a&b");
  expect(formatQuery(query, "call 1")).toBe(
    "#/calls/call%201?client=a%26b&decision=denied&outcome=ok&text=x+y&from=2026-11-01&to=2026-11-02",
  );
  const invalid = readQuery(new URLSearchParams("decision=maybe&outcome=toString&from=yesterday"));
  expect(formatQuery(invalid, null)).toBe("#/calls");
});

it("a field of an export is quoted, and is no formula", () => {
  const [call] = data.calls();
  if (!call) throw new Error("the fake hub has calls");
  const csv = formatCsv([{ ...call, reason: 'say "no", twice', tool: "=1+1" }]);
  expect(csv).toContain('"say ""no"", twice"');
  expect(csv).toContain(",'=1+1,");
  expect(csv.split("\r\n")).toHaveLength(3);
});
