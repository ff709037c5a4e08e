/** Two texts line by line: what is gone, what is new, and what stands around it. */

export interface Line {
  kind: "same" | "gone" | "new" | "gap";
  text: string;
}

/** Beyond this the middle of two long texts is not compared line by line, but told as a whole. */
const MOST_PAIRS = 1_000_000;
const AROUND = 1;

export function diffLines(before: string, after: string): Line[] {
  const [one, other] = [before.split("\n"), after.split("\n")];
  const most = Math.min(one.length, other.length);
  let head = 0;
  while (head < most && one[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < most - head && one[one.length - 1 - tail] === other[other.length - 1 - tail])
    tail += 1;
  const same = (lines: string[]) => lines.map((text): Line => ({ kind: "same", text }));
  const middle = changed(
    one.slice(head, one.length - tail),
    other.slice(head, other.length - tail),
  );
  return folded([...same(one.slice(0, head)), ...middle, ...same(one.slice(one.length - tail))]);
}

function changed(before: string[], after: string[]): Line[] {
  const gone = (lines: string[]) => lines.map((text): Line => ({ kind: "gone", text }));
  const fresh = (lines: string[]) => lines.map((text): Line => ({ kind: "new", text }));
  if (before.length * after.length > MOST_PAIRS) return [...gone(before), ...fresh(after)];
  const common = lengths(before, after);
  const length = (i: number, j: number) => common[i]?.[j] ?? 0;
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      lines.push({ kind: "same", text: before[i] ?? "" });
      i += 1;
      j += 1;
    } else if (length(i + 1, j) >= length(i, j + 1)) lines.push(...gone(before.slice(i, (i += 1))));
    else lines.push(...fresh(after.slice(j, (j += 1))));
  }
  return [...lines, ...gone(before.slice(i)), ...fresh(after.slice(j))];
}

/** Of the longest common subsequence of what is left, by where each begins. */
function lengths(before: string[], after: string[]): number[][] {
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

/** Without what is the same on both sides and not right beside a change. */
function folded(lines: Line[]): Line[] {
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((line) => line.kind !== "same"),
  );
  const found: Line[] = [];
  lines.forEach((line, at) => {
    if (near[at]) found.push(line);
    else if (found.at(-1)?.kind !== "gap") found.push({ kind: "gap", text: "" });
  });
  return found.some((line) => line.kind !== "gap") ? found : [];
}
