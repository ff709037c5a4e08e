/** Values that are saved in this browser. Without storage they last until the page is closed. */

/** Returns the saved text; empty if there is none. */
export function readStored(key: string): string {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

export function writeStored(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // A browser may forbid storage, or have no space for it.
  }
}
