/** The charts of the calls in a period. */

import type { CallStats, CallStatsView } from "../ipc";
import { formatDuration } from "../lib/time";
import { texts } from "../texts";

const t = texts.calls.charts;

export const formatCount = (value: number) => value.toLocaleString("en");

export function formatMilliseconds(ms: number | null): string {
  return ms === null ? t.none : formatDuration(ms);
}

export function countTokens({ sent_tokens, received_tokens }: CallStats): number {
  return sent_tokens + received_tokens;
}

/** Returns the charts of all calls together: calls, latency, approvals and tokens. */
export function describeCharts({ total, series }: CallStatsView) {
  const values = (pick: (stats: CallStats) => number | null) => series.map(pick);
  return {
    calls: {
      key: "calls",
      title: t.calls(formatCount(total.calls)),
      kind: "bars" as const,
      format: formatCount,
      series: [
        {
          name: t.answered,
          tone: "accent" as const,
          values: values(
            (stats) => stats.calls - stats.errors - stats.not_allowed - stats.cancelled,
          ),
        },
        { name: t.errors, tone: "bad" as const, values: values((stats) => stats.errors) },
        { name: t.cancelled, tone: "quiet" as const, values: values((stats) => stats.cancelled) },
        { name: t.notAllowed, tone: "warn" as const, values: values((stats) => stats.not_allowed) },
      ],
    },
    latency: {
      key: "latency",
      title: t.latency(formatMilliseconds(total.p50_ms), formatMilliseconds(total.p95_ms)),
      kind: "lines" as const,
      format: formatDuration,
      series: [
        { name: t.p50, tone: "accent" as const, values: values((stats) => stats.p50_ms) },
        { name: t.p95, tone: "busy" as const, values: values((stats) => stats.p95_ms) },
      ],
    },
    approvals: {
      key: "approvals",
      title: t.approvals(formatCount(total.asked)),
      kind: "bars" as const,
      format: formatCount,
      series: [
        { name: t.approved, tone: "good" as const, values: values((stats) => stats.approved) },
        { name: t.denied, tone: "bad" as const, values: values((stats) => stats.denied) },
        { name: t.timedOut, tone: "warn" as const, values: values((stats) => stats.timed_out) },
      ],
    },
    tokens: {
      key: "tokens",
      title: t.tokens(formatCount(countTokens(total))),
      kind: "bars" as const,
      format: formatCount,
      series: [
        { name: t.sent, tone: "busy" as const, values: values((stats) => stats.sent_tokens) },
        {
          name: t.received,
          tone: "accent" as const,
          values: values((stats) => stats.received_tokens),
        },
      ],
    },
  };
}
