import { describe, expect, it } from "vitest";
import { initialValues, readElicitation, toContent, type FormField, type Values } from "./form";

function fields(properties: object, required: string[] = []): FormField[] {
  const read = readElicitation(
    JSON.stringify({
      message: "m",
      requestedSchema: { type: "object", properties, required },
    }),
  );
  if (read?.kind !== "form") throw new Error("no form");
  return read.fields;
}

function content(form: FormField[], values: Values): unknown {
  const result = toContent(form, { ...initialValues(form), ...values });
  return "content" in result ? (JSON.parse(result.content) as unknown) : result.errors;
}

describe("the form of a request for input", () => {
  it("has each field in the server's order with its label, default and choices", () => {
    const form = fields(
      {
        zip: { type: "string", title: "ZIP code", default: "53111", maxLength: 5 },
        age: { type: "integer", minimum: 18, default: 30 },
        news: { type: "boolean", default: true },
        size: { type: "string", enum: ["s", "l"], enumNames: ["Small", "Large"], default: "l" },
        color: { type: "string", oneOf: [{ const: "r", title: "Red" }] },
        days: {
          type: "array",
          items: { anyOf: [{ const: "mo", title: "Monday" }] },
          default: ["mo", "??"],
        },
      },
      ["zip"],
    );
    expect(form.map((field) => [field.name, field.label, field.kind, field.initial])).toEqual([
      ["zip", "ZIP code", "text", "53111"],
      ["age", "age", "number", "30"],
      ["news", "news", "boolean", true],
      ["size", "size", "choice", "l"],
      ["color", "color", "choice", ""],
      ["days", "days", "choices", ["mo"]],
    ]);
    expect(form.filter((field) => field.required).map((field) => field.name)).toEqual(["zip"]);
    expect(content(form, {})).toEqual({
      zip: "53111",
      age: 30,
      news: true,
      size: "l",
      days: ["mo"],
    });
  });

  it("demands required fields, and sends no empty fields", () => {
    const form = fields({ a: { type: "string" }, b: { type: "number" } }, ["a"]);
    expect(content(form, {})).toEqual({ a: "Enter a value." });
    expect(content(form, { a: "x" })).toEqual({ a: "x" });
  });

  it.each([
    [{ type: "string", minLength: 3 }, "ab", "abc"],
    [{ type: "string", maxLength: 2 }, "abc", "äö"],
    [{ type: "string", format: "email" }, "ada", "ada@example.com"],
    [{ type: "string", format: "uri" }, "not a url", "https://example.com/"],
    [{ type: "string", format: "date" }, "31.12.2026", "2026-12-31"],
    [{ type: "integer" }, "1.5", "2"],
    [{ type: "number", minimum: 0.5 }, "0.4", "0.5"],
    [{ type: "number", maximum: 2 }, "3", "2"],
    [
      { type: "array", items: { type: "string", enum: ["a", "b"] }, maxItems: 1 },
      ["a", "b"],
      ["a"],
    ],
  ])("checks a value against %j", (schema, bad, good) => {
    const form = fields({ field: schema });
    expect(content(form, { field: bad })).toEqual({ field: expect.any(String) as string });
    expect(content(form, { field: good })).toEqual({
      field: typeof good === "string" && form[0]?.kind === "number" ? Number(good) : good,
    });
  });

  it("sends a local time as UTC", () => {
    const form = fields({ at: { type: "string", format: "date-time" } });
    const sent = content(form, { at: "2026-12-31T13:00" }) as { at: string };
    expect(sent.at).toBe(new Date("2026-12-31T13:00").toISOString());
  });

  it("reads a URL to visit, and rejects anything that is no request for input", () => {
    expect(readElicitation('{"mode":"url","message":"m","url":"https://a.example/"}')).toEqual({
      kind: "url",
      message: "m",
      url: "https://a.example/",
    });
    for (const params of ["", "[]", "{}", '{"requestedSchema":{}}'])
      expect(readElicitation(params)).toBeNull();
  });
});
