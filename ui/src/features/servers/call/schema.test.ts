import { describe, expect, it } from "vitest";
import { expandTemplate, templateSchema } from "./requestSchema";
import { readResult } from "./result";
import { describeSchema, findMissing, initialValue } from "./schema";

describe("describeSchema", () => {
  it("follows references, and drops the alternative null", () => {
    const root = {
      type: "object",
      properties: {
        at: { $ref: "#/$defs/at" },
        n: { anyOf: [{ type: "integer" }, { type: "null" }] },
      },
      $defs: { at: { type: "string", enum: ["a", "b"], description: "Where" } },
    };
    expect(describeSchema(root.properties.at, root)).toMatchObject({
      kind: "enum",
      choices: ["a", "b"],
      description: "Where",
    });
    expect(describeSchema(root.properties.n, root)).toMatchObject({
      kind: "number",
      integer: true,
    });
  });

  it("falls back to JSON for a schema that no form can show, or whose references are circular", () => {
    expect(describeSchema({ oneOf: [{ type: "string" }, { type: "number" }] }, {}).kind).toBe(
      "json",
    );
    const root = { $defs: { a: { $ref: "#/$defs/a" } } };
    expect(describeSchema({ $ref: "#/$defs/a" }, root).kind).toBe("json");
    expect(describeSchema(true, {}).kind).toBe("json");
  });
});

describe("the values of a form", () => {
  const schema = {
    type: "object",
    required: ["path", "filter"],
    properties: {
      path: { type: "string" },
      limit: { type: "integer", default: 10 },
      filter: { type: "object", required: ["kind"], properties: { kind: { type: "string" } } },
    },
  };

  it("begin with the defaults", () => {
    expect(initialValue(schema, schema, true)).toEqual({ limit: 10, filter: {} });
  });

  it("that are required and missing are listed by their paths", () => {
    expect(findMissing(schema, schema, { filter: {} }).sort()).toEqual(["/filter/kind", "/path"]);
    expect(findMissing(schema, schema, { path: "", filter: { kind: "a" } })).toEqual([]);
  });
});

describe("URI templates", () => {
  it("are expanded with values", () => {
    expect(templateSchema("x://{a}/{+b}{?c,d}")).toMatchObject({ required: ["a", "b", "c", "d"] });
    expect(expandTemplate("x://{a}/{+b}{?c}", { a: "1 2", b: "u/v", c: "3" })).toBe(
      "x://1%202/u/v?c=3",
    );
  });
});

describe("readResult", () => {
  it("shows no image whose type or data is not safe", () => {
    const image = (mimeType: string, data: string) =>
      readResult({ content: [{ type: "image", data, mimeType }] }).blocks[0]?.kind;
    expect(image("image/png", "AAAA")).toBe("image");
    expect(image("image/svg+xml", "AAAA")).toBe("binary");
    expect(image("image/png", '"><script>')).toBe("binary");
  });

  it("keeps errors and structured content", () => {
    const shown = readResult({ isError: true, content: [], structuredContent: { a: 1 } });
    expect(shown.isError).toBe(true);
    expect(shown.blocks).toMatchObject([{ kind: "json", label: "structuredContent" }]);
  });
});
