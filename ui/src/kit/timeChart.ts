/** Draws the charts of TimeChart.svelte with uPlot, which is loaded with the first chart. */

import type uPlot from "uplot";

export interface ChartSpec {
  /** The name of each step, such as a time of day. */
  steps: string[];
  kind: "bars" | "lines";
  /** For each series, one value per step; `null` if there is none. */
  values: (number | null)[][];
  format: (value: number) => string;
}

/** The colours and the font of a chart, as the page's styles give them. */
export interface ChartLook {
  /** One colour for each series. */
  series: string[];
  text: string;
  grid: string;
  /** Separates the parts of a stacked bar. */
  background: string;
  font: string;
}

const HEIGHT = 170;
const MIN_WIDTH = 120;
/** The width of a label of the time axis with its margin, at most. */
const LABEL_WIDTH = 92;
/** The distances between the lines of the value axis: 1, 2, 5, 10, 20 and so on. */
const INCREMENTS = Array.from({ length: 13 }, (_, power) =>
  [1, 2, 5].map((digit) => digit * 10 ** power),
).flat();

/** Returns whether this browser can draw a chart. */
export function canDraw(): boolean {
  return document.createElement("canvas").getContext("2d") !== null;
}

/** Loads the library that draws charts, so that it is there when the values arrive. */
export function preloadCharts(): void {
  if (canDraw()) void import("uplot").catch(() => undefined);
}

/** Settles in the frame in which the next new chart may be drawn. */
let nextTurn: Promise<unknown> = Promise.resolve();

/** Waits for the turn of a new chart. One chart is drawn per frame, so that no frame takes long. */
async function waitForTurn(): Promise<void> {
  const turn = nextTurn;
  nextTurn = turn.then(() => new Promise(requestAnimationFrame));
  await turn;
}

export class ChartCanvas {
  private plot: uPlot | undefined;
  private spec: ChartSpec | undefined;
  /** The properties that a drawn chart cannot change. */
  private shape = "";
  private destroyed = false;

  /** `onhover` gets the step under the pointer, or `null`. */
  constructor(
    private readonly target: HTMLElement,
    private readonly readLook: () => ChartLook,
    private readonly onhover: (step: number | null) => void,
  ) {}

  /** Draws the chart, or shows other values in the same chart. */
  async show(spec: ChartSpec): Promise<void> {
    this.spec = spec;
    const { default: UPlot } = await import("uplot");
    if (!this.plot) await waitForTurn();
    if (this.destroyed || this.spec !== spec) return;
    const shape = `${spec.kind} ${String(spec.values.length)}`;
    if (this.plot && this.shape === shape) {
      this.plot.setData(dataOf(spec));
      return;
    }
    this.plot?.destroy();
    this.shape = shape;
    this.plot = new UPlot(this.options(UPlot, spec), dataOf(spec), this.target);
  }

  /** Draws the chart again after the theme or the size of the text has changed. */
  redraw(): void {
    this.plot?.redraw(false, true);
  }

  resize(): void {
    this.plot?.setSize({ width: this.width(), height: HEIGHT });
  }

  destroy(): void {
    this.destroyed = true;
    this.plot?.destroy();
  }

  private width(): number {
    return Math.max(MIN_WIDTH, this.target.clientWidth);
  }

  private options(UPlot: typeof uPlot, spec: ChartSpec): uPlot.Options {
    const isStacked = spec.kind === "bars";
    const count = spec.values.length;
    // uPlot numbers the series from 1 in the order in which it draws them. Stacked bars are drawn
    // from the tallest to the shortest, so that each remains visible.
    const seriesAt = (drawn: number) => (isStacked ? count - drawn : drawn - 1);
    const colour = (_: uPlot, drawn: number) => this.readLook().series[seriesAt(drawn)] ?? "";
    const bars = UPlot.paths.bars?.({ size: [0.76, 48] });
    const series = Array.from({ length: count }, (): uPlot.Series => {
      if (!isStacked) return { stroke: colour, width: 2, points: { size: 5, fill: colour } };
      return {
        fill: colour,
        stroke: () => this.readLook().background,
        width: 1,
        points: { show: false },
        ...(bars ? { paths: bars } : {}),
      };
    });
    const axis: uPlot.Axis = {
      stroke: () => this.readLook().text,
      font: this.readLook().font,
      ticks: { show: false },
    };
    return {
      width: this.width(),
      height: HEIGHT,
      padding: [8, 12, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false, y: false },
        points: { show: !isStacked },
        move: (plot, left, top) => [snapToStep(plot, left), top],
      },
      scales: {
        x: { time: false, range: () => [-0.5, (this.spec?.steps.length ?? 1) - 0.5] },
        y: { range: (_, __, highest) => [0, highest > 0 ? highest * 1.04 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          splits: (plot) => splitSteps(this.spec?.steps.length ?? 0, plot.width),
          values: (_, splits) => splits.map((step) => this.spec?.steps[step] ?? ""),
          size: 26,
          gap: 6,
        },
        {
          ...axis,
          grid: { stroke: () => this.readLook().grid, width: 1 },
          incrs: INCREMENTS,
          space: 34,
          values: (_, splits) => splits.map((value) => this.spec?.format(value) ?? ""),
          size: (_, values) => 14 + 7 * Math.max(2, ...(values ?? []).map((text) => text.length)),
          gap: 6,
        },
      ],
      series: [{}, ...series],
      hooks: { setCursor: [(plot) => this.onhover(plot.cursor.idx ?? null)] },
    };
  }
}

/** Returns the numbers of the steps whose labels fit beside each other. */
function splitSteps(count: number, width: number): number[] {
  const every = Math.max(1, Math.ceil(count / Math.max(1, Math.floor(width / LABEL_WIDTH))));
  return Array.from({ length: count }, (_, step) => step).filter((step) => step % every === 0);
}

function snapToStep(plot: uPlot, left: number): number {
  if (left < 0) return left;
  return plot.valToPos(Math.round(plot.posToVal(left, "x")), "x");
}

/**
 * Returns the data for uPlot. For bars, the values of each series are added to those of the series
 * before it. The last series, whose bars are the tallest, then comes first.
 */
function dataOf({ steps, kind, values }: ChartSpec): uPlot.AlignedData {
  const xs = steps.map((_, step) => step);
  if (kind === "lines") return [xs, ...values];
  const sums = xs.map(() => 0);
  const stacked = values.map((series) =>
    xs.map((step) => (sums[step] = (sums[step] ?? 0) + (series[step] ?? 0))),
  );
  // A bar without a height would still have an outline.
  return [xs, ...stacked.toReversed().map((series) => series.map((sum) => sum || null))];
}
