/**
 * The only list of the main window's keyboard shortcuts. The approval queue handles its own keys.
 * A shortcut activates the element that shows its keys: it focuses a field, and clicks any other
 * element.
 */

import type { Attachment } from "svelte/attachments";
import { texts } from "../texts";

const t = texts.shortcuts;

type Page = keyof typeof texts.shell.pages;
export type ShortcutId = "palette" | "help" | "search" | "add" | `page-${Page}`;
type Group = keyof typeof t.groups;

export interface Shortcut {
  /** `null` if lists and dialogs handle the keys themselves. */
  id: ShortcutId | null;
  group: Group;
  label: string;
  /** The alternatives, such as "Mod+K" or "?". Mod is Ctrl, or Cmd on macOS. */
  keys: string[];
  /** Whether the shortcut also works while a person types in a field. */
  worksInFields?: boolean;
}

/** The keys of the screens, in the order of the sidebar. */
const PAGE_KEYS = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0", ","];

export const SHORTCUTS: readonly Shortcut[] = [
  { id: "palette", group: "anywhere", label: t.palette, keys: ["Mod+K"], worksInFields: true },
  { id: "help", group: "anywhere", label: t.help, keys: ["?"] },
  { id: "search", group: "anywhere", label: t.search, keys: ["/"] },
  // Browsers keep Ctrl+N for a new window.
  { id: "add", group: "anywhere", label: t.add, keys: ["Mod+N", "N"] },
  ...Object.entries(texts.shell.pages).map(([page, label], index): Shortcut => {
    const id = `page-${page as Page}` as const;
    return { id, group: "screens", label: t.page(label), keys: [`Mod+${PAGE_KEYS[index]}`] };
  }),
  { id: null, group: "lists", label: t.move, keys: ["↑", "↓"] },
  { id: null, group: "lists", label: t.ends, keys: ["Home", "End"] },
  { id: null, group: "lists", label: t.enter, keys: ["Enter"] },
  { id: null, group: "lists", label: t.escape, keys: ["Esc"] },
];

const isMac = navigator.platform.startsWith("Mac");

/** Returns the parts of a key as this computer's keyboard names them: "Ctrl" and "K". */
export function nameKeys(key: string): string[] {
  return key.split("+").map((part) => (part === "Mod" ? (isMac ? "⌘" : t.control) : part));
}

export function findShortcut(id: ShortcutId): Shortcut | undefined {
  return SHORTCUTS.find((shortcut) => shortcut.id === id);
}

/** Makes an element the target of a shortcut, and shows the shortcut's keys on hover. */
export function shortcut(id: ShortcutId): Attachment<HTMLElement> {
  return (element) => {
    const keys = findShortcut(id)?.keys ?? [];
    const shown = keys.map((key) => nameKeys(key).join("+")).join(` ${t.or} `);
    element.dataset["shortcut"] = id;
    const { title } = element;
    element.title = title ? `${title} (${shown})` : shown;
    const control = isMac ? "Meta" : "Control";
    const names = keys.map((key) => key.replace("Mod", control));
    element.setAttribute("aria-keyshortcuts", names.join(" "));
    return () => {
      element.title = title;
    };
  };
}

function matches(event: KeyboardEvent, key: string): boolean {
  const name = key.replace("Mod+", "");
  const isMod = event.ctrlKey !== event.metaKey;
  if (name === key ? event.ctrlKey || event.metaKey : !isMod || event.shiftKey) return false;
  if (event.altKey) return false;
  // Some keyboards have digits only with Shift, and some have no Latin letters.
  if (/^\d$/.test(name)) return event.code === `Digit${name}` || event.key === name;
  if (/^[A-Z]$/.test(name) && !/^[ -~]$/.test(event.key)) return event.code === `Key${name}`;
  return event.key.toUpperCase() === name;
}

const TEXT_FIELDS =
  'input:not([type="checkbox"], [type="radio"], [type="button"]), textarea, select, [contenteditable]';

/**
 * Activates the element of the shortcut to which a key belongs. While a dialog is open, no shortcut
 * works. In a field, only shortcuts with `worksInFields` work.
 */
export function runShortcut(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.repeat) return;
  if (document.querySelector("dialog[open]")) return;
  const isTyping = event.target instanceof Element && event.target.closest(TEXT_FIELDS) !== null;
  const found = SHORTCUTS.find(
    ({ id, keys, worksInFields }) =>
      id !== null && (!isTyping || worksInFields) && keys.some((key) => matches(event, key)),
  );
  const element =
    found && document.querySelector<HTMLElement>(`[data-shortcut="${String(found.id)}"]`);
  if (!element) return;
  event.preventDefault();
  if (element instanceof HTMLInputElement) {
    element.focus();
    element.select();
  } else element.click();
}
