import { describe, expect, it } from "vitest";
import type { CallStats, CallStatsView } from "../../ipc";
import { groupSeries } from "./groupSeries";

function stats(calls: number): CallStats {
  return {
    calls,
    errors: 0,
    cancelled: 0,
    not_allowed: 0,
    asked: 0,
    approved: 0,
    denied: 0,
    timed_out: 0,
    p50_ms: null,
    p95_ms: calls || null,
    wait_p50_ms: null,
    sent_tokens: 0,
    received_tokens: 0,
  };
}

const view: CallStatsView = {
  since: 0,
  step_ms: 1,
  total: stats(12),
  series: [stats(5), stats(7)],
  groups: [
    { name: "cursor", server: "", stats: stats(9), series: [stats(5), stats(4)] },
    { name: "codex", server: "", stats: stats(3), series: [] },
  ],
  omitted_groups: 0,
  is_partial: false,
};

describe("the series of groups", () => {
  it("add up to all calls, with the rest as a series of its own", () => {
    const series = groupSeries(view, (step) => step.calls, true);
    expect(series.map(({ name, values }) => [name, values])).toEqual([
      ["cursor", [5, 4]],
      ["Others", [0, 3]],
    ]);
  });

  it("have no rest if their values cannot be added up", () => {
    const series = groupSeries(view, (step) => step.p95_ms, false);
    expect(series.map(({ name }) => name)).toEqual(["cursor"]);
  });
});
