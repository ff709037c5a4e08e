/** The size of all texts. It is saved in this browser only. */

/** The sizes. All lengths of texts are in rem, so the size of the root scales them. */
const ROOT_SIZES = { small: "90%", normal: "", large: "115%", very_large: "130%" };

export type TextSize = keyof typeof ROOT_SIZES;

export const TEXT_SIZES = Object.keys(ROOT_SIZES) as TextSize[];

const KEY = "drawbridge-text-size";

export function readTextSize(): TextSize {
  try {
    const saved = localStorage.getItem(KEY) ?? "";
    return TEXT_SIZES.find((size) => size === saved) ?? "normal";
  } catch {
    return "normal";
  }
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
  try {
    localStorage.setItem(KEY, size);
  } catch {
    // Without storage the chosen size lasts until the page is closed.
  }
}
