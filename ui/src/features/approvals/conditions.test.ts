import { describe, expect, it } from "vitest";
import { conditionsOf, partsOf } from "./conditions";

const one = (text: string) =>
  partsOf(text)[0] ?? { key: "", pointer: "", choices: [], why: "none" };

describe("what a call's arguments can be held to", () => {
  it("is the exact value of a text, a number and a yes or no", () => {
    const parts = partsOf('{"branch":"main","n":1.50,"force":true,"none":null}');
    expect(conditionsOf(parts, { "/branch": 0, "/n": 0, "/force": 0, "/none": 0 })).toEqual([
      { pointer: "/branch", is: { equals: "main" } },
      { pointer: "/n", is: { equals: 1.5 } },
      { pointer: "/force", is: { equals: true } },
      { pointer: "/none", is: { equals: null } },
    ]);
    expect(parts[1]?.choices[0]?.words).toBe("exactly 1.50");
  });

  it("is any value where nothing is chosen", () => {
    expect(conditionsOf(partsOf('{"a":1,"b":2}'), { "/b": 0 })).toEqual([
      { pointer: "/b", is: { equals: 2 } },
    ]);
    expect(conditionsOf(partsOf('{"a":1}'), {})).toEqual([]);
  });

  it("is not offered where a number would become another one on its way", () => {
    expect(one('{"id":12345678901234567891}').why).toContain("more digits");
    expect(one('{"id":9007199254740992}').choices).toHaveLength(1);
  });

  it("is not offered for lists, groups, and keys that stand twice", () => {
    expect(partsOf('{"l":[1],"o":{},"p":1,"p":2}').map((part) => part.why)).toEqual([
      "It is a list.",
      "It is a group of values.",
      "The key stands twice.",
    ]);
  });

  it("is each folder that an absolute path is in, the nearest first", () => {
    expect(one('{"path":"/home/ada/Projects/x.txt"}').choices.map((choice) => choice.is)).toEqual([
      { equals: "/home/ada/Projects/x.txt" },
      { path_within: "/home/ada/Projects" },
      { path_within: "/home/ada" },
      { path_within: "/home" },
      { path_within: "/" },
    ]);
    expect(
      one('{"path":"C:\\\\Users\\\\ada\\\\x.txt"}')
        .choices.map((choice) => choice.is)
        .slice(1),
    ).toEqual([
      { path_within: "C:\\Users\\ada" },
      { path_within: "C:\\Users" },
      { path_within: "C:\\" },
    ]);
  });

  it("is the folder that a path leads to, not the one that it says", () => {
    expect(
      one('{"path":"/home/ada/../../etc/./passwd"}')
        .choices.map((choice) => choice.is)
        .slice(1),
    ).toEqual([{ path_within: "/etc" }, { path_within: "/" }]);
  });

  it("is no folder for what is no absolute path", () => {
    for (const text of ["notes/x.txt", "~/x", "plain"])
      expect(one(JSON.stringify({ text })).choices).toHaveLength(1);
  });

  it("is the host of a web address, unless readers differ about it", () => {
    expect(one('{"url":"https://Docs.Example.com:8443/a?b"}').choices.at(-1)).toEqual({
      words: "on the host docs.example.com",
      is: { host: "docs.example.com" },
    });
    for (const url of [
      "https://good.example@evil.example/",
      "https://a\\b/",
      "ftp://a/",
      "example.com",
    ])
      expect(one(JSON.stringify({ url })).choices).toHaveLength(1);
  });

  it("points at a key whatever its characters", () => {
    expect(one('{"a/b~c":1}').pointer).toBe("/a~1b~0c");
    expect(one('{"":1}').pointer).toBe("/");
  });

  it("draws what is hidden in the words", () => {
    expect(one('{"p":"/a\u200b/b"}').choices[1]?.words).toBe("in /a⟨U+200B⟩");
  });

  it("is nothing where there are no arguments", () => {
    for (const text of ["{}", "[1]", "{broken", "null"]) expect(partsOf(text)).toEqual([]);
  });
});
