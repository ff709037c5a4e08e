import { describe, expect, it } from "vitest";
import type { ManifestChoice, ManifestInput } from "../../ipc";
import {
  canBeSecret,
  createManifestForm,
  parseSource,
  toFillRequest,
  validateInputs,
} from "./manifest";

function input(name: string, part: Partial<ManifestInput> = {}): ManifestInput {
  return {
    name,
    kind: "env",
    description: "",
    required: false,
    secret: false,
    repeated: false,
    default: null,
    choices: [],
    placeholder: "",
    format: "text",
    min: null,
    max: null,
    ...part,
  };
}

function createForm(...inputs: ManifestInput[]) {
  const choice: ManifestChoice = {
    label: "npx shop",
    preview: "npx shop",
    runtime: "npx",
    inputs,
    problem: "",
  };
  return createManifestForm({ preset: "shop" }, "Shop", 0, choice);
}

describe("a manifest's form", () => {
  it("begins with the defaults, and sends its values", () => {
    const form = createForm(
      input("KEY", { secret: true }),
      input("region", { default: "eu", choices: ["eu", "us"] }),
    );
    expect(form.values).toEqual({ KEY: "", region: "eu" });
    form.values["KEY"] = "s3cret";
    expect(toFillRequest(form)).toEqual({
      source: { preset: "shop" },
      choice: 0,
      name: "Shop",
      values: { KEY: "s3cret", region: "eu" },
      secrets: {},
    });
    expect(toFillRequest({ ...form, name: " " }).name).toBeNull();
  });

  it("sends values that a person marked as secret separately, if they can be secret", () => {
    const form = createForm(input("TOKEN"), input("--token", { kind: "argument" }));
    form.values = { TOKEN: "a", "--token": "b" };
    form.markedSecret = { TOKEN: true, "--token": true };
    expect(toFillRequest(form)).toMatchObject({
      values: { "--token": "b" },
      secrets: { TOKEN: "a" },
    });
    expect(canBeSecret(input("KEY", { secret: true }))).toBe(false);
  });

  it("sends a checked box as true, and an unchecked box as empty, or as false if the input needs a value", () => {
    const form = createForm(
      input("quiet", { format: "boolean" }),
      input("safe", { format: "boolean", required: true }),
      input("fast", { format: "boolean", default: "true" }),
    );
    expect(toFillRequest(form).values).toEqual({ quiet: "", safe: "false", fast: "true" });
    expect(validateInputs(form)).toEqual({});
  });

  it("reports missing and invalid values", () => {
    const form = createForm(
      input("folder", { required: true, repeated: true }),
      input("LIMIT", { format: "number" }),
      input("region", { choices: ["eu"] }),
    );
    form.values = { folder: " \n ", LIMIT: "many", region: "mars" };
    expect(validateInputs(form)).toEqual({
      folder: "Enter a value.",
      LIMIT: "Enter a number.",
      region: "“mars” is not allowed. Use one of: eu.",
    });
    form.values = { folder: "/a\n/b", LIMIT: "5", region: "eu" };
    expect(validateInputs(form)).toEqual({});
  });

  it("reports numbers outside of their limits", () => {
    const number = { format: "number" } as const;
    const form = createForm(
      input("both", { ...number, min: 0, max: 10.5 }),
      input("least", { ...number, min: 1 }),
      input("most", { ...number, max: 3 }),
    );
    form.values = { both: "11", least: "0", most: "4" };
    expect(validateInputs(form)).toEqual({
      both: "Enter a number: from 0 to 10.5.",
      least: "Enter a number: at least 1.",
      most: "Enter a number: at most 3.",
    });
    form.values = { both: "0", least: "1", most: "3" };
    expect(validateInputs(form)).toEqual({});
  });
});

describe("the source of a manifest", () => {
  it.each([["/home/ada/server.json"], ["C:\\x\\plugin.json"], ["\\\\box\\share\\server.json"]])(
    "%s is a path",
    (text) => {
      expect(parseSource(` ${text}\n`)).toEqual({ path: text });
    },
  );

  it("anything else is the manifest itself", () => {
    expect(parseSource('{"name":"x"}')).toEqual({ text: '{"name":"x"}' });
    expect(parseSource("/a\n/b")).toEqual({ text: "/a\n/b" });
  });
});
