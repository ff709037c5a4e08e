/** Names of keys, as the desktop app reads them in a global shortcut: `Ctrl+Alt+D`. */

/** The keys that are no shortcut on their own. */
const MODIFIERS = ["Control", "Alt", "AltGraph", "Shift", "Meta"];

/**
 * Returns the shortcut of a key press, or `null` if only modifiers are held. The place of the key
 * counts, not the letter that the keyboard layout gives it.
 */
export function readShortcut(event: KeyboardEvent): string | null {
  if (MODIFIERS.includes(event.key)) return null;
  const key = event.code.replace(/^(Key|Digit)/, "");
  if (!key) return null;
  const held = [
    event.ctrlKey && "Ctrl",
    event.altKey && "Alt",
    event.shiftKey && "Shift",
    event.metaKey && "Super",
  ];
  return [...held.filter((name) => name !== false), key].join("+");
}
