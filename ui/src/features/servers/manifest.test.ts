import { describe, expect, it } from "vitest";
import type { ManifestChoice, ManifestInput } from "../../ipc";
import { fillOf, inputFaults, mayBeKept, pick, sourceOf } from "./manifest";

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
    ...part,
  };
}

function picked(...inputs: ManifestInput[]) {
  const choice: ManifestChoice = {
    label: "npx shop",
    preview: "npx shop",
    runtime: "npx",
    inputs,
    problem: "",
  };
  return pick({ preset: "shop" }, "Shop", 0, choice);
}

describe("a manifest's form", () => {
  it("begins with the defaults, and sends what stands in it", () => {
    const form = picked(
      input("KEY", { secret: true }),
      input("region", { default: "eu", choices: ["eu", "us"] }),
    );
    expect(form.values).toEqual({ KEY: "", region: "eu" });
    form.values["KEY"] = "s3cret";
    expect(fillOf(form)).toEqual({
      source: { preset: "shop" },
      choice: 0,
      name: "Shop",
      values: { KEY: "s3cret", region: "eu" },
      secrets: {},
    });
    expect(fillOf({ ...form, name: " " }).name).toBeNull();
  });

  it("sends apart what a person wants in the keyring, where that is possible", () => {
    const form = picked(input("TOKEN"), input("--token", { kind: "argument" }));
    form.values = { TOKEN: "a", "--token": "b" };
    form.kept = { TOKEN: true, "--token": true };
    expect(fillOf(form)).toMatchObject({ values: { "--token": "b" }, secrets: { TOKEN: "a" } });
    expect(mayBeKept(input("KEY", { secret: true }))).toBe(false);
  });

  it("takes an unticked box for nothing, or for false where something has to be said", () => {
    const form = picked(
      input("quiet", { format: "boolean" }),
      input("safe", { format: "boolean", required: true }),
      input("fast", { format: "boolean", default: "true" }),
    );
    expect(fillOf(form).values).toEqual({ quiet: "", safe: "false", fast: "true" });
    expect(inputFaults(form)).toEqual({});
  });

  it("says what is missing or does not fit", () => {
    const form = picked(
      input("folder", { required: true, repeated: true }),
      input("LIMIT", { format: "number" }),
      input("region", { choices: ["eu"] }),
    );
    form.values = { folder: " \n ", LIMIT: "many", region: "mars" };
    expect(inputFaults(form)).toEqual({
      folder: "It cannot do without this.",
      LIMIT: "Give a number.",
      region: "“mars” is none of eu.",
    });
    form.values = { folder: "/a\n/b", LIMIT: "5", region: "eu" };
    expect(inputFaults(form)).toEqual({});
  });
});

describe("where a manifest is", () => {
  it.each([["/home/ada/server.json"], ["C:\\x\\plugin.json"], ["\\\\box\\share\\server.json"]])(
    "%s is a path",
    (text) => {
      expect(sourceOf(` ${text}\n`)).toEqual({ path: text });
    },
  );

  it("anything else is the manifest itself", () => {
    expect(sourceOf('{"name":"x"}')).toEqual({ text: '{"name":"x"}' });
    expect(sourceOf("/a\n/b")).toEqual({ text: "/a\n/b" });
  });
});
