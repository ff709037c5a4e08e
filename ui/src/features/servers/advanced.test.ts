import { describe, expect, it } from "vitest";
import type { ServerSpec } from "../../ipc";
import {
  advancedFaults,
  advancedOf,
  advancedSpec,
  newToolTime,
  unusualCount,
  USUAL,
} from "./advanced";

const usual = () => advancedOf({});

describe("the advanced part of a server's form", () => {
  it("is empty where all is as usual, and writes the usual", () => {
    expect(unusualCount(usual())).toBe(0);
    expect(
      unusualCount(
        advancedOf({
          timeouts: advancedSpec(usual(), {}, true).timeouts as NonNullable<ServerSpec["timeouts"]>,
          retries: 3,
        }),
      ),
    ).toBe(0);
    expect(advancedSpec(usual(), {}, true)).toEqual({
      lifecycle: "singleton",
      visibility: "visible",
      definitions: "ask",
      protocol_version: null,
      validate: "coercible",
      prefix: null,
      allowed_tools: null,
      fallback: [],
      retries: 3,
      cache_ttl_ms: null,
      cache_results_ms: 0,
      timeouts: {
        initialize_ms: 60_000,
        call_ms: 30_000,
        total_ms: 600_000,
        idle_ms: 1_800_000,
        ping_ms: 60_000,
        stop_ms: 10_000,
        tools: {},
      },
    });
  });

  it("keeps every field of a spec on the way through the form", () => {
    const spec: Partial<ServerSpec> = {
      lifecycle: "transient",
      visibility: "deferred",
      definitions: "trust",
      protocol_version: "2025-06-18",
      validate: "strict",
      prefix: "files",
      allowed_tools: ["read"],
      fallback: ["b", "a"],
      retries: 0,
      cache_ttl_ms: 1500,
      cache_results_ms: 60_000,
      timeouts: {
        initialize_ms: 120_000,
        call_ms: 500,
        total_ms: 600_000,
        idle_ms: 0,
        ping_ms: 0,
        stop_ms: 10_000,
        tools: { slow: 90_000 },
      },
    };
    expect(advancedSpec(advancedOf(spec), spec, true)).toEqual(spec);
  });

  it("counts another check of arguments as unusual, and a spec without one as usual", () => {
    expect(unusualCount(advancedOf({ validate: "off" }))).toBe(1);
    expect(unusualCount(advancedOf({ validate: "coercible" }))).toBe(0);
  });

  it("tells bare names, an own prefix and the id apart", () => {
    expect(advancedOf({ prefix: "" }).naming).toBe("bare");
    expect(advancedOf({ prefix: "x" }).naming).toBe("own");
    expect(advancedOf({ prefix: null }).naming).toBe("id");
    expect(advancedSpec({ ...usual(), naming: "bare", prefix: "left over" }, {}, true).prefix).toBe(
      "",
    );
    expect(
      advancedSpec({ ...usual(), naming: "id", prefix: "left over" }, {}, true).prefix,
    ).toBeNull();
  });

  it("allows no tool where none is ticked, and all where there is no choice", () => {
    expect(advancedSpec({ ...usual(), limited: true }, {}, true).allowed_tools).toEqual([]);
    expect(advancedSpec({ ...usual(), allowed: ["left over"] }, {}, true).allowed_tools).toBeNull();
  });

  it("gives a remote server no lifecycle", () => {
    expect(advancedSpec({ ...usual(), lifecycle: "transient" }, {}, false).lifecycle).toBe(
      "singleton",
    );
  });

  it.each([
    ["", ""],
    ["0.5", ""],
    ["0,5", ""],
    [".5", ""],
    ["0", "nothing"],
    ["ten", "number of seconds"],
    ["-1", "number of seconds"],
    ["1e3", "number of seconds"],
    ["0x10", "number of seconds"],
    ["4294968", "at most"],
  ])("takes %j seconds for a call: %j", (text, fault) => {
    const { call = "" } = advancedFaults({ ...usual(), times: { ...usual().times, call: text } });
    expect(fault ? call.includes(fault) : call === "").toBe(true);
  });

  it("lets a server never be asked whether it is there", () => {
    const form = { ...usual(), times: { ...usual().times, ping: "0" } };
    expect(advancedFaults(form)).toEqual({});
    expect(advancedSpec(form, {}, true).timeouts).toMatchObject({
      ping_ms: 0,
      idle_ms: USUAL.idle * 1000,
    });
  });

  it("says what is wrong at its field", () => {
    expect(
      advancedFaults({ ...usual(), retries: "2.5", cacheTtl: "x", cacheResults: "y" }),
    ).toEqual({
      retries: "Give a whole number from 0 to 100.",
      cacheTtl: expect.any(String) as string,
      cacheResults: expect.any(String) as string,
    });
    for (const prefix of ["", "a b", "a__b", "_a", "a_", "x".repeat(33)])
      expect(advancedFaults({ ...usual(), naming: "own", prefix })).toHaveProperty("prefix");
    expect(advancedFaults({ ...usual(), naming: "own", prefix: "my-files_2" })).toEqual({});
  });

  it("wants a name and a time for each tool of its own time", () => {
    const of = (...lines: [string, string][]) =>
      advancedFaults({
        ...usual(),
        toolTimes: lines.map(([name, seconds]) => newToolTime({ name, seconds })),
      }).toolTimes;
    expect(of(["", "5"])).toContain("Name the tool");
    expect(of(["a", "5"], ["a", "6"])).toBe("The tool a stands twice.");
    expect(of(["a", ""])).toContain("Give a a number");
    expect(of(["a", "5"])).toBeUndefined();
  });
});
