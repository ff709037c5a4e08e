/** Running calls of the fake hub, and the stats of all its calls. */

import { IpcError } from "..";
import type {
  Call,
  CallStats,
  CallStatsView,
  OverviewView,
  RunningCallView,
  StatsPeriod,
} from "../bindings";
import type { FakeHub } from ".";
import { describeDecision } from "./logs";

const MINUTE_MS = 60_000;
/** The number of groups, from the largest on, that have a series. */
const MAX_SERIES = 6;
/** The number of steps of each period, and the length of a step in milliseconds. */
const STEPS: Record<StatsPeriod, [number, number]> = {
  hour: [12, 5 * MINUTE_MS],
  day: [24, 60 * MINUTE_MS],
  week: [28, 360 * MINUTE_MS],
  month: [30, 1440 * MINUTE_MS],
};
/** The outcomes that count as errors. */
const ERRORS = ["server_error", "client_error", "unreachable", "unknown", "timed_out"];

/** Starts a call that runs until it is cancelled. */
export function startCall(hub: FakeHub, part: Partial<RunningCallView> & { call: Call }): void {
  const running: RunningCallView = { running_ms: 0, progress: null, ...part };
  hub.running = [...hub.running, running];
  hub.calls = [running.call, ...hub.calls];
  hub.emit({ kind: "call_changed", call: running.call });
  hub.log({ area: "call", call: running.call.id, ...describeDecision(running.call) });
}

/** Lets the running calls run for another second, and reports their progress. */
export function advanceCalls(hub: FakeHub): void {
  hub.running = hub.running.map((running) => {
    const running_ms = running.running_ms + 1000;
    if (!running.progress) return { ...running, running_ms };
    const total = running.progress.total ?? 100;
    const progress = {
      ...running.progress,
      progress: Math.min(total, running.progress.progress + 1),
    };
    hub.emit({ kind: "call_progressed", id: running.call.id, progress });
    return { ...running, running_ms, progress };
  });
}

/** Returns calls that run for a long time, for the screens during development. */
export function longCalls(): RunningCallView[] {
  return [
    {
      call: runningCall("running-1", "index_repository", "github"),
      running_ms: 42_000,
      progress: { progress: 17, total: 60, message: "Reading src/main.rs" },
    },
    {
      call: runningCall("running-2", "search_files", "filesystem"),
      running_ms: 3000,
      progress: null,
    },
  ];
}

export function runningCall(id: string, tool: string, server: string): Call {
  return {
    id,
    at: Date.now(),
    method: "tools/call",
    client: "claude-code",
    session: "session-1",
    server,
    tool,
    exposed_name: `${server}__${tool}`,
    decision: "allowed",
    decided_by: "rule",
    rule: null,
    is_edited: false,
    reason: "",
    outcome: "running",
    error: "",
    waited_ms: 4,
    duration_ms: null,
  };
}

export function callVerbs(hub: FakeHub) {
  return {
    "calls.running": () => hub.running,
    "calls.cancel": ({ id }: { id: string }) => {
      const running = hub.running.find(({ call }) => call.id === id);
      if (!running)
        throw new IpcError(
          "not_found",
          `the call '${id}' is not running; it may have ended already`,
        );
      hub.running = hub.running.filter((other) => other !== running);
      const call: Call = {
        ...running.call,
        outcome: "cancelled",
        error: "the user cancelled the call",
      };
      hub.calls = hub.calls.map((other) => (other.id === id ? call : other));
      hub.emit({ kind: "call_changed", call });
      return call;
    },
    "overview.show": ({ since }: { since: number }): OverviewView => showOverview(hub, since),
    "calls.stats": ({
      period,
      group_by: by,
      client,
      server,
    }: {
      period: StatsPeriod;
      group_by: "client" | "server" | "tool";
      client: string | null;
      server: string | null;
    }): CallStatsView => {
      const [steps, step_ms] = STEPS[period];
      const since = Math.ceil(Date.now() / step_ms) * step_ms - steps * step_ms;
      const counted = hub.calls.filter(
        (call) =>
          call.method === "tools/call" &&
          call.at >= since &&
          (client === null || call.client === client) &&
          (server === null || call.server === server),
      );
      const seriesOf = (calls: Call[]) =>
        Array.from({ length: steps }, (_, index) =>
          computeStats(calls.filter((call) => Math.floor((call.at - since) / step_ms) === index)),
        );
      const callsByKey = new Map<string, Call[]>();
      for (const call of counted) {
        const key = by === "tool" ? `${call.server} ${call.tool}` : call[by];
        callsByKey.set(key, [...(callsByKey.get(key) ?? []), call]);
      }
      return {
        since,
        step_ms,
        total: computeStats(counted),
        series: seriesOf(counted),
        groups: [...callsByKey]
          .map(([key, calls]) => ({
            name: by === "tool" ? key.slice(key.indexOf(" ") + 1) : key,
            server: by === "tool" ? key.slice(0, key.indexOf(" ")) : "",
            stats: computeStats(calls),
            series: seriesOf(calls),
          }))
          .toSorted((a, b) => b.stats.calls - a.stats.calls)
          .map((group, rank) => (rank < MAX_SERIES ? group : { ...group, series: [] })),
        omitted_groups: 0,
        is_partial: false,
      };
    },
  };
}

/** Returns the stats of the calls of tools since a moment. */
function showOverview(hub: FakeHub, since: number): OverviewView {
  const counted = hub.calls.filter((call) => call.method === "tools/call" && call.at >= since);
  return { since, calls: computeStats(counted), is_partial: false };
}

function computeStats(calls: Call[]): CallStats {
  const count = (test: (call: Call) => boolean) => calls.filter(test).length;
  const askedPerson = (call: Call) => call.decided_by === "person" || call.decision === "timed_out";
  const durations = calls.flatMap((call) => call.duration_ms ?? []).toSorted((a, b) => a - b);
  const waits = calls.filter(askedPerson).map((call) => call.waited_ms);
  const percentile = (values: number[], share: number) =>
    values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? null;
  return {
    calls: calls.length,
    errors: count((call) => ERRORS.includes(call.outcome)),
    cancelled: count((call) => call.outcome === "cancelled"),
    not_allowed: count((call) => call.decision !== "allowed"),
    asked: count(askedPerson),
    approved: count((call) => askedPerson(call) && call.decision === "allowed"),
    denied: count((call) => askedPerson(call) && call.decision === "denied"),
    timed_out: count((call) => call.decision === "timed_out"),
    p50_ms: percentile(durations, 0.5),
    p95_ms: percentile(durations, 0.95),
    wait_p50_ms: percentile(
      waits.toSorted((a, b) => a - b),
      0.5,
    ),
    sent_tokens: 40 * calls.length,
    received_tokens: 310 * calls.length,
  };
}
