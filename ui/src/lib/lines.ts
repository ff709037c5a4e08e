/** Compares two texts line by line. */

export interface Line {
  /** A gap stands for unchanged lines that are left out. */
  kind: "same" | "removed" | "added" | "gap";
  text: string;
}

/** Above this many pairs of lines, the whole differing middle is shown as removed and added. */
const MAX_PAIRS = 1_000_000;
/** The unchanged lines to show around a change. */
const CONTEXT = 1;

/** Returns the changed lines with their context and gaps; nothing if the texts are the same. */
export function diffLines(before: string, after: string): Line[] {
  const [oldLines, newLines] = [before.split("\n"), after.split("\n")];
  const shorter = Math.min(oldLines.length, newLines.length);
  let head = 0;
  while (head < shorter && oldLines[head] === newLines[head]) head += 1;
  let tail = 0;
  while (
    tail < shorter - head &&
    oldLines[oldLines.length - 1 - tail] === newLines[newLines.length - 1 - tail]
  )
    tail += 1;
  const same = (lines: string[]) => lines.map((text): Line => ({ kind: "same", text }));
  const middle = diffMiddle(
    oldLines.slice(head, oldLines.length - tail),
    newLines.slice(head, newLines.length - tail),
  );
  return foldUnchanged([
    ...same(oldLines.slice(0, head)),
    ...middle,
    ...same(oldLines.slice(oldLines.length - tail)),
  ]);
}

function diffMiddle(before: string[], after: string[]): Line[] {
  const removed = (lines: string[]) => lines.map((text): Line => ({ kind: "removed", text }));
  const added = (lines: string[]) => lines.map((text): Line => ({ kind: "added", text }));
  if (before.length * after.length > MAX_PAIRS) return [...removed(before), ...added(after)];
  const common = subsequenceLengths(before, after);
  const length = (i: number, j: number) => common[i]?.[j] ?? 0;
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      lines.push({ kind: "same", text: before[i] ?? "" });
      i += 1;
      j += 1;
    } else if (length(i + 1, j) >= length(i, j + 1))
      lines.push(...removed(before.slice(i, (i += 1))));
    else lines.push(...added(after.slice(j, (j += 1))));
  }
  return [...lines, ...removed(before.slice(i)), ...added(after.slice(j))];
}

/**
 * Returns, for each pair of positions, the length of the longest common subsequence from these
 * positions on.
 */
function subsequenceLengths(before: string[], after: string[]): number[][] {
  const table = Array.from({ length: before.length + 1 }, () =>
    new Array<number>(after.length + 1).fill(0),
  );
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const [row, below] = [table[i] ?? [], table[i + 1] ?? []];
    for (let j = after.length - 1; j >= 0; j -= 1) {
      row[j] =
        before[i] === after[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return table;
}

/** Replaces each run of unchanged lines with a gap, except for lines next to a change. */
function foldUnchanged(lines: Line[]): Line[] {
  const isNearChange = lines.map((_, index) =>
    lines
      .slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1)
      .some((line) => line.kind !== "same"),
  );
  const folded: Line[] = [];
  lines.forEach((line, index) => {
    if (isNearChange[index]) folded.push(line);
    else if (folded.at(-1)?.kind !== "gap") folded.push({ kind: "gap", text: "" });
  });
  return folded.some((line) => line.kind !== "gap") ? folded : [];
}
