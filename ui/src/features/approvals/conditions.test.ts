import { describe, expect, it } from "vitest";
import { listArgumentOptions, toConditions } from "./conditions";

const firstOption = (text: string) =>
  listArgumentOptions(text)[0] ?? { key: "", pointer: "", choices: [], unavailableReason: "none" };

describe("a condition on an argument", () => {
  it("can be the exact value of a string, number, boolean or null", () => {
    const options = listArgumentOptions('{"branch":"main","n":1.50,"force":true,"none":null}');
    expect(toConditions(options, { "/branch": 0, "/n": 0, "/force": 0, "/none": 0 })).toEqual([
      { pointer: "/branch", is: { equals: "main" } },
      { pointer: "/n", is: { equals: 1.5 } },
      { pointer: "/force", is: { equals: true } },
      { pointer: "/none", is: { equals: null } },
    ]);
    expect(options[1]?.choices[0]?.label).toBe("exactly 1.50");
  });

  it("can be the project folder of the client, if the path is in it", () => {
    const predicates = (path: string, project: string | null) =>
      listArgumentOptions(JSON.stringify({ path }), project)[0]?.choices.map(({ is }) => is);
    const inProject = { path_within: "$project" };
    expect(predicates("/home/me/web/a.txt", "/home/me/web")).toContainEqual(inProject);
    expect(predicates("/home/me/website/a.txt", "/home/me/web")).not.toContainEqual(inProject);
    expect(predicates("/home/me/web/../a.txt", "/home/me/web")).not.toContainEqual(inProject);
    expect(predicates("/home/me/web/a.txt", null)).not.toContainEqual(inProject);
  });

  it("is made only if a person has chosen it", () => {
    expect(toConditions(listArgumentOptions('{"a":1,"b":2}'), { "/b": 0 })).toEqual([
      { pointer: "/b", is: { equals: 2 } },
    ]);
    expect(toConditions(listArgumentOptions('{"a":1}'), {})).toEqual([]);
  });

  it("is not offered for a number that JavaScript would round", () => {
    expect(firstOption('{"id":12345678901234567891}').unavailableReason).toContain("more digits");
    expect(firstOption('{"id":9007199254740992}').choices).toHaveLength(1);
  });

  it("is not offered for arrays, objects and duplicate keys", () => {
    expect(
      listArgumentOptions('{"l":[1],"o":{},"p":1,"p":2}').map((option) => option.unavailableReason),
    ).toEqual(["The value is a list.", "The value is an object.", "The key is a duplicate."]);
  });

  it("can be each folder that contains an absolute path, nearest first", () => {
    expect(
      firstOption('{"path":"/home/ada/Projects/x.txt"}').choices.map((choice) => choice.is),
    ).toEqual([
      { equals: "/home/ada/Projects/x.txt" },
      { path_within: "/home/ada/Projects" },
      { path_within: "/home/ada" },
      { path_within: "/home" },
      { path_within: "/" },
    ]);
    expect(
      firstOption('{"path":"C:\\\\Users\\\\ada\\\\x.txt"}')
        .choices.map((choice) => choice.is)
        .slice(1),
    ).toEqual([
      { path_within: "C:\\Users\\ada" },
      { path_within: "C:\\Users" },
      { path_within: "C:\\" },
    ]);
  });

  it("uses the normalized path", () => {
    expect(
      firstOption('{"path":"/home/ada/../../etc/./passwd"}')
        .choices.map((choice) => choice.is)
        .slice(1),
    ).toEqual([{ path_within: "/etc" }, { path_within: "/" }]);
  });

  it("cannot be a folder if the text is no absolute path", () => {
    for (const text of ["notes/x.txt", "~/x", "plain"])
      expect(firstOption(JSON.stringify({ text })).choices).toHaveLength(1);
  });

  it("can be the host of an http or https URL, unless parsers read it differently", () => {
    expect(firstOption('{"url":"https://Docs.Example.com:8443/a?b"}').choices.at(-1)).toEqual({
      label: "on the host docs.example.com",
      is: { host: "docs.example.com" },
    });
    for (const url of [
      "https://good.example@evil.example/",
      "https://a\\b/",
      "ftp://a/",
      "example.com",
    ])
      expect(firstOption(JSON.stringify({ url })).choices).toHaveLength(1);
  });

  it("escapes the key in its pointer", () => {
    expect(firstOption('{"a/b~c":1}').pointer).toBe("/a~1b~0c");
    expect(firstOption('{"":1}').pointer).toBe("/");
  });

  it("reveals hidden characters in its label", () => {
    expect(firstOption('{"p":"/a\u200b/b"}').choices[1]?.label).toBe("in /a⟨U+200B⟩");
  });

  it("is not offered without arguments", () => {
    for (const text of ["{}", "[1]", "{broken", "null"])
      expect(listArgumentOptions(text)).toEqual([]);
  });
});
