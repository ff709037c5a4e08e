import { describe, expect, it } from "vitest";
import { joinCommandLine, findShellSyntax, splitCommandLine } from "./commandLine";

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
    expect(splitCommandLine(line)).toEqual({ words, problem: "" });
  });

  it("reports a quote that is not closed", () => {
    expect(splitCommandLine(`run "half`).problem).toBe(
      'The command has an opening quote (") without a closing one. Add the missing quote.',
    );
  });

  it("is the same after joining and splitting", () => {
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
    expect(splitCommandLine(joinCommandLine(words)).words).toEqual(words);
  });

  it("is checked for shell syntax", () => {
    expect(findShellSyntax(["cat", "x", "|", "grep"])).toContain("without a shell");
    expect(findShellSyntax(["ls", "~/files"])).toContain("~/files");
    expect(findShellSyntax(["npx", "-y", "server"])).toBe("");
  });
});
