/** The size of all texts. It is saved in this browser only. */

import { readStored, writeStored } from "../lib/stored";

/** The font sizes of the root element. All texts have relative sizes, so they scale. */
const ROOT_SIZES = { small: "90%", normal: "", large: "115%", very_large: "130%" };

export type TextSize = keyof typeof ROOT_SIZES;

export const TEXT_SIZES = Object.keys(ROOT_SIZES) as TextSize[];

const KEY = "drawbridge-text-size";

export function readTextSize(): TextSize {
  const saved = readStored(KEY);
  return TEXT_SIZES.find((size) => size === saved) ?? "normal";
}

function applyTextSize(size: TextSize): void {
  document.documentElement.style.fontSize = ROOT_SIZES[size];
}

/** Applies the saved size now, and whenever another window changes it. */
export function followTextSize(): void {
  const apply = () => applyTextSize(readTextSize());
  addEventListener("storage", apply);
  apply();
}

export function saveTextSize(size: TextSize): void {
  applyTextSize(size);
  writeStored(KEY, size);
}
