import { describe, expect, it } from "vitest";
import { hasHidden, reveal, revealHidden } from "./reveal";

describe("hidden characters", () => {
  it("leaves ordinary text of any script unchanged", () => {
    for (const text of [
      "plain, text; 1+1=2",
      "naïve Straße",
      "日本語のテキスト",
      "שלום",
      "مرحبا",
      "👍🏽 café",
      "e\u0301",
    ]) {
      expect(revealHidden(text)).toBe(text);
    }
  });

  it.each([
    ["right-to-left override", "\u202e", "⟨U+202E⟩"],
    ["isolate", "\u2066", "⟨U+2066⟩"],
    ["Arabic letter mark", "\u061c", "⟨U+061C⟩"],
    ["zero-width space", "\u200b", "⟨U+200B⟩"],
    ["zero-width joiner", "\u200d", "⟨U+200D⟩"],
    ["byte order mark", "\ufeff", "⟨U+FEFF⟩"],
    ["soft hyphen", "\u00ad", "⟨U+00AD⟩"],
    ["escape", "\u001b", "⟨U+001B⟩"],
    ["null", "\u0000", "⟨U+0000⟩"],
    ["a C1 control", "\u0085", "⟨U+0085⟩"],
    ["a tag letter", "\u{e0041}", "⟨U+E0041⟩"],
    ["a variation selector", "\ufe01", "⟨U+FE01⟩"],
    ["a supplementary variation selector", "\u{e0101}", "⟨U+E0101⟩"],
    ["line separator", "\u2028", "⟨U+2028⟩"],
    ["no-break space", "\u00a0", "⟨U+00A0⟩"],
    ["Hangul filler", "\u3164", "⟨U+3164⟩"],
    ["blank Braille", "\u2800", "⟨U+2800⟩"],
    ["a private-use character", "\ue000", "⟨U+E000⟩"],
    ["half a surrogate pair", "\ud800", "⟨U+D800⟩"],
    ["word joiner", "\u2060", "⟨U+2060⟩"],
    ["an invisible operator", "\u2063", "⟨U+2063⟩"],
    ["a musical format control", "\u{1d173}", "⟨U+1D173⟩"],
    ["carriage return", "\r", "⟨U+000D⟩"],
  ])("shows %s", (_, char, shown) => {
    expect(revealHidden(`a${char}b`, { multiline: true })).toBe(`a${shown}b`);
  });

  it("keeps line feeds and tabs only in multiline text", () => {
    expect(revealHidden("a\n\tb", { multiline: true })).toBe("a\n\tb");
    expect(revealHidden("a\n\tb")).toBe("a⟨U+000A⟩⟨U+0009⟩b");
  });

  it("allows one emoji selector after an emoji", () => {
    expect(revealHidden("❤\ufe0f")).toBe("❤\ufe0f");
    expect(revealHidden("❤\ufe0f\ufe0f")).toBe("❤\ufe0f⟨U+FE0F⟩");
    expect(revealHidden("a\ufe0f")).toBe("a⟨U+FE0F⟩");
  });

  it("names hidden characters", () => {
    expect(reveal("\u202e")).toEqual([
      { kind: "hidden", code: "U+202E", name: "right-to-left override" },
    ]);
    expect(reveal("\u{e0061}")).toEqual([{ kind: "hidden", code: "U+E0061", name: 'tag "a"' }]);
  });

  it("loses nothing of the text", () => {
    const text = "pay\u202etxt.exe\u200b!\n";
    expect(
      reveal(text, { multiline: true })
        .filter((p) => p.kind === "text")
        .map((p) => p.text),
    ).toEqual(["pay", "txt.exe", "!\n"]);
  });

  it("detects hidden characters", () => {
    expect(hasHidden("two\nlines")).toBe(false);
    expect(hasHidden("zero\u200bwidth")).toBe(true);
  });
});
