/** Light, dark, or as the system has it. Kept on this machine only. */

export type Theme = "system" | "light" | "dark";

const KEY = "drawbridge-theme";

export function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}

/** Whether the system is dark now. */
const system = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

export function applyTheme(theme: Theme): void {
  const ofSystem = system?.matches ? "dark" : "light";
  document.documentElement.dataset["theme"] = theme === "system" ? ofSystem : theme;
}

/** Shows the kept theme from now on: also when the system, or another window, changes it. */
export function followTheme(): void {
  const apply = () => applyTheme(readTheme());
  system?.addEventListener("change", apply);
  addEventListener("storage", apply);
  apply();
}

export function keepTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // A browser that keeps nothing still shows the chosen theme until it is closed.
  }
}
