/** The theme: light, dark or that of the system. It is saved in this browser only. */

import { readStored, writeStored } from "../lib/stored";

export type Theme = "system" | "light" | "dark";

const KEY = "drawbridge-theme";

export function readTheme(): Theme {
  const saved = readStored(KEY);
  return saved === "light" || saved === "dark" ? saved : "system";
}

const prefersDark = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

export function applyTheme(theme: Theme): void {
  const systemTheme = prefersDark?.matches ? "dark" : "light";
  document.documentElement.dataset["theme"] = theme === "system" ? systemTheme : theme;
}

/** Applies the saved theme now, and whenever the system or another window changes it. */
export function followTheme(): void {
  const apply = () => applyTheme(readTheme());
  prefersDark?.addEventListener("change", apply);
  addEventListener("storage", apply);
  apply();
}

export function saveTheme(theme: Theme): void {
  applyTheme(theme);
  writeStored(KEY, theme);
}
