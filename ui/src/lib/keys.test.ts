import { describe, expect, it } from "vitest";
import { readShortcut } from "./keys";

function press(key: string, code: string, held: KeyboardEventInit = {}): string | null {
  return readShortcut(new KeyboardEvent("keydown", { key, code, ...held }));
}

describe("reading a shortcut", () => {
  it("names the held keys first", () => {
    expect(press("d", "KeyD", { ctrlKey: true, altKey: true })).toBe("Ctrl+Alt+D");
    expect(press("!", "Digit1", { metaKey: true, shiftKey: true })).toBe("Shift+Super+1");
    expect(press("F9", "F9")).toBe("F9");
    expect(press(" ", "Space", { altKey: true })).toBe("Alt+Space");
  });

  it("waits for a key that is no modifier", () => {
    expect(press("Control", "ControlLeft", { ctrlKey: true })).toBeNull();
  });
});
