/** Formats amounts of memory and CPU. */

import { texts } from "../texts";

const t = texts.kit.amounts;

/** Returns "640 KB", "12.4 MB", "128 MB", "1.5 GB". */
export function formatMemory(kib: number): string {
  if (kib < 1024) return t.kilobytes(String(Math.round(kib)));
  const mib = kib / 1024;
  if (mib < 1024) return t.megabytes(mib < 99.95 ? mib.toFixed(1) : String(Math.round(mib)));
  return t.gigabytes((mib / 1024).toFixed(1));
}

/** Returns "0 %", "0.4 %", "37 %". */
export function formatPercent(value: number): string {
  if (value < 0.05) return t.percent("0");
  return t.percent(value < 9.95 ? value.toFixed(1) : String(Math.round(value)));
}
