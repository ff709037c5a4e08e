import { expect, it } from "vitest";
import type { Call } from "../../ipc";
import * as data from "../../ipc/fake/data";
import { groupBySession } from "./sessions";

it("calls are grouped by session, the newest session first", () => {
  const [base] = data.calls();
  if (!base) throw new Error("the fake hub has calls");
  const call = (id: string, at: number, client: string, session?: string): Call => {
    const made: Call = { ...base, id, at, client };
    delete made.session;
    return session === undefined ? made : { ...made, session };
  };
  const rows = groupBySession([
    call("5", 50, "desk", "b"),
    call("4", 40, "desk", "a"),
    call("3", 30, "desk", "b"),
    call("2", 20, "desk"),
    call("1", 10, "other"),
  ]);
  const shown = rows.map((row) =>
    "call" in row
      ? row.call.id
      : `${row.heading.client}/${row.heading.session} ${row.heading.count} ${row.heading.from}-${row.heading.to}`,
  );
  expect(shown).toEqual([
    "desk/b 2 30-50",
    "5",
    "3",
    "desk/a 1 40-40",
    "4",
    "desk/ 1 20-20",
    "2",
    "other/ 1 10-10",
    "1",
  ]);
  expect(new Set(rows.map(({ key }) => key)).size, "each row has its own key").toBe(rows.length);
});
