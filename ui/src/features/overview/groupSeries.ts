/** The series of a chart that compares clients or servers. */

import type { CallStats, CallStatsView } from "../../ipc";
import { texts } from "../../texts";

const TONES = ["c1", "c2", "c3", "c4", "c5", "c6"] as const;

export interface GroupSeries {
  name: string;
  tone: (typeof TONES)[number] | "quiet";
  values: (number | null)[];
}

/**
 * Returns the series of the groups, in the order of the view. `pick` returns the value of a step. If
 * `withOthers` is set, adds a series of all other calls together, unless there are none.
 */
export function groupSeries(
  view: CallStatsView,
  pick: (stats: CallStats) => number | null,
  withOthers: boolean,
): GroupSeries[] {
  const groups = view.groups.filter((group) => group.series.length);
  const series: GroupSeries[] = groups.map((group, index) => ({
    name: group.name || texts.overview.none,
    tone: TONES[index % TONES.length] ?? "c1",
    values: group.series.map(pick),
  }));
  if (!withOthers) return series;
  const rest = view.series.map((all, step) =>
    series.reduce((sum, { values }) => sum - (values[step] ?? 0), pick(all) ?? 0),
  );
  return rest.some((value) => value > 0)
    ? [...series, { name: texts.overview.others, tone: "quiet", values: rest }]
    : series;
}
