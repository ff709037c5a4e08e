/** Amounts of memory and of work, in words. */

/** "640 KB", "12.4 MB", "128 MB", "1.5 GB". */
export function memory(kib: number): string {
  if (kib < 1024) return `${String(Math.round(kib))} KB`;
  const mib = kib / 1024;
  if (mib < 1024) return `${mib < 99.95 ? mib.toFixed(1) : String(Math.round(mib))} MB`;
  return `${(mib / 1024).toFixed(1)} GB`;
}

/** "0 %", "0.4 %", "37 %". */
export function percent(value: number): string {
  if (value < 0.05) return "0 %";
  return `${value < 9.95 ? value.toFixed(1) : String(Math.round(value))} %`;
}
