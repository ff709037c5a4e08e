import { afterEach, describe, expect, it } from "vitest";
import { formatQuery, readChoice, replaceQuery } from "./hashQuery";

afterEach(() => {
  location.hash = "";
});

describe("the filters in the hash", () => {
  it("replace the earlier filters and keep the page", () => {
    location.hash = "#/logs?level=warn";
    const entries = history.length;
    replaceQuery({ server: "my x", text: "" });
    expect(location.hash).toBe("#/logs?server=my+x");
    expect(history.length).toBe(entries);
    replaceQuery({ server: "" });
    expect(location.hash).toBe("#/logs");
  });

  it("are read back as they were written", () => {
    const text = "50 % & more? #1";
    expect(new URLSearchParams(formatQuery({ text })).get("text")).toBe(text);
  });

  it("fall back to the first choice if they name an unknown choice", () => {
    const query = new URLSearchParams("period=century");
    expect(readChoice(query, "period", ["day", "week"])).toBe("day");
    expect(readChoice(new URLSearchParams("period=week"), "period", ["day", "week"])).toBe("week");
  });
});
