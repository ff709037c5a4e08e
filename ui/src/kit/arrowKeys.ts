/** Moves the focus through the rows of a list. */

import type { Attachment } from "svelte/attachments";

const CONTROLS = "a[href], button, input, select, [tabindex]";

/**
 * Moves the focus with the arrow keys, Home and End to another row of the element, and there to the
 * control at the same position. From a search field above the rows, the down arrow enters the list.
 *
 * @param rows The selector of the rows. A row may be a control itself.
 * @param onmove Called with the control that gets the focus.
 */
export function arrowKeys(
  rows: string,
  onmove: (control: HTMLElement) => void = () => undefined,
): Attachment<HTMLElement> {
  function listControls(row: HTMLElement): HTMLElement[] {
    return row.matches(CONTROLS) ? [row] : [...row.querySelectorAll<HTMLElement>(CONTROLS)];
  }

  function move(event: KeyboardEvent) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.defaultPrevented) return;
    const list = event.currentTarget as HTMLElement;
    const from = event.target as HTMLElement;
    const inSearch = from.matches('input[type="search"]');
    // A field needs the keys for itself.
    if (!inSearch && from.matches('select, textarea, input:not([type="checkbox"])')) return;
    const all = [...list.querySelectorAll<HTMLElement>(rows)];
    const at = all.findIndex((row) => row.contains(from));
    if (at < 0 && !inSearch) return;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || (inSearch && event.key !== "ArrowDown")) return;
    const row = all[Math.max(0, Math.min(to, all.length - 1))];
    if (!row) return;
    event.preventDefault();
    const position = at < 0 ? 0 : listControls(all[at] as HTMLElement).indexOf(from);
    const controls = listControls(row);
    const control = controls[Math.min(Math.max(0, position), controls.length - 1)];
    control?.focus();
    if (control) onmove(control);
  }

  return (element) => {
    element.addEventListener("keydown", move);
    return () => element.removeEventListener("keydown", move);
  };
}
