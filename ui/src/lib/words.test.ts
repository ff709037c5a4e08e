import { describe, expect, it } from "vitest";
import { joinWords, shellOnly, splitWords } from "./words";

describe("a command line", () => {
  it.each<[string, string[]]>([
    ["npx -y @scope/server /tmp", ["npx", "-y", "@scope/server", "/tmp"]],
    ["  a   b\t", ["a", "b"]],
    [`run "two words" 'and three more'`, ["run", "two words", "and three more"]],
    [`--path="/home/me/my files"`, ["--path=/home/me/my files"]],
    [`a\\ b`, ["a b"]],
    [`""`, [""]],
    [`x '' y`, ["x", "", "y"]],
    [`"say \\"hi\\" \\\\ \\n"`, ['say "hi" \\ \\n']],
    [`'no \\escape "here"'`, ['no \\escape "here"']],
    [`C:\\Tools\\node.exe C:\\x`, ["C:\\Tools\\node.exe", "C:\\x"]],
    [`echo $HOME | cat`, ["echo", "$HOME", "|", "cat"]],
    ["", []],
  ])("splits %j", (line, words) => {
    expect(splitWords(line)).toEqual({ words, problem: "" });
  });

  it("says so when a quote is not closed", () => {
    expect(splitWords(`run "half`).problem).toBe('A quote (") is opened and not closed.');
  });

  it("comes back the same after joining and splitting", () => {
    const words = [
      "npx",
      "two words",
      "",
      `it's`,
      `"q"`,
      `both ' and "`,
      "back\\slash",
      "C:\\a b\\",
      "tab\there",
    ];
    expect(splitWords(joinWords(words)).words).toEqual(words);
  });

  it("warns of what only a shell would understand", () => {
    expect(shellOnly(["cat", "x", "|", "grep"])).toContain("without a shell");
    expect(shellOnly(["ls", "~/files"])).toContain("~/files");
    expect(shellOnly(["npx", "-y", "server"])).toBe("");
  });
});
