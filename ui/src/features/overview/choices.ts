/** The choices for the charts of the Overview, the default first. */

export const PERIODS = ["day", "hour", "week", "month"] as const;
export type Period = (typeof PERIODS)[number];

export const GROUPINGS = ["none", "client", "server"] as const;
export type Grouping = (typeof GROUPINGS)[number];
