import { describe, expect, it } from "vitest";
import type { ServerSpec } from "../../ipc";
import {
  countChanged,
  DEFAULT_SECONDS,
  newToolTimeout,
  toAdvanced,
  toAdvancedSpec,
  validateAdvanced,
} from "./advanced";

const defaults = () => toAdvanced({});

describe("the advanced part of a server's form", () => {
  it("is empty for the defaults, and writes the defaults", () => {
    expect(countChanged(defaults())).toBe(0);
    expect(
      countChanged(
        toAdvanced({
          timeouts: toAdvancedSpec(defaults(), {}, true).timeouts as NonNullable<
            ServerSpec["timeouts"]
          >,
          retries: 3,
        }),
      ),
    ).toBe(0);
    expect(toAdvancedSpec(defaults(), {}, true)).toEqual({
      lifecycle: "singleton",
      program_changes: false,
      sandbox: null,
      visibility: "visible",
      definitions: "ask",
      protocol_version: null,
      validate: "coercible",
      content_defence: "off",
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

  it("keeps every field of a spec in a round trip", () => {
    const spec: Partial<ServerSpec> = {
      lifecycle: "transient",
      program_changes: true,
      sandbox: { files: "listed", network: "all" },
      visibility: "deferred",
      definitions: "trust",
      protocol_version: "2025-06-18",
      validate: "strict",
      content_defence: "ask",
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
    expect(toAdvancedSpec(toAdvanced(spec), spec, true)).toEqual(spec);
  });

  it("counts an argument check as changed unless it is the default", () => {
    expect(countChanged(toAdvanced({ validate: "off" }))).toBe(1);
    expect(countChanged(toAdvanced({ validate: "coercible" }))).toBe(0);
  });

  it("distinguishes no prefix, an own prefix and the id", () => {
    expect(toAdvanced({ prefix: "" }).naming).toBe("bare");
    expect(toAdvanced({ prefix: "x" }).naming).toBe("own");
    expect(toAdvanced({ prefix: null }).naming).toBe("id");
    expect(
      toAdvancedSpec({ ...defaults(), naming: "bare", prefix: "left over" }, {}, true).prefix,
    ).toBe("");
    expect(
      toAdvancedSpec({ ...defaults(), naming: "id", prefix: "left over" }, {}, true).prefix,
    ).toBeNull();
  });

  it("allows no tool if none is selected, and all tools if they are not limited", () => {
    expect(toAdvancedSpec({ ...defaults(), limited: true }, {}, true).allowed_tools).toEqual([]);
    expect(
      toAdvancedSpec({ ...defaults(), allowed: ["left over"] }, {}, true).allowed_tools,
    ).toBeNull();
  });

  it("gives a remote server no lifecycle", () => {
    expect(toAdvancedSpec({ ...defaults(), lifecycle: "transient" }, {}, false).lifecycle).toBe(
      "singleton",
    );
  });

  it.each([
    ["", ""],
    ["0.5", ""],
    ["0,5", ""],
    [".5", ""],
    ["0", "more than 0"],
    ["ten", "number of seconds"],
    ["-1", "number of seconds"],
    ["1e3", "number of seconds"],
    ["0x10", "number of seconds"],
    ["4294968", "at most"],
  ])("reports for %j seconds of a call the error %j", (text, error) => {
    const { call = "" } = validateAdvanced({
      ...defaults(),
      timeouts: { ...defaults().timeouts, call: text },
    });
    expect(error ? call.includes(error) : call === "").toBe(true);
  });

  it("can turn the health check off", () => {
    const form = { ...defaults(), timeouts: { ...defaults().timeouts, ping: "0" } };
    expect(validateAdvanced(form)).toEqual({});
    expect(toAdvancedSpec(form, {}, true).timeouts).toMatchObject({
      ping_ms: 0,
      idle_ms: DEFAULT_SECONDS.idle * 1000,
    });
  });

  it("reports each error at its field", () => {
    expect(
      validateAdvanced({ ...defaults(), retries: "2.5", cacheTtl: "x", cacheResults: "y" }),
    ).toEqual({
      retries: "Enter a whole number from 0 to 100.",
      cacheTtl: expect.any(String) as string,
      cacheResults: expect.any(String) as string,
    });
    for (const prefix of ["", "a b", "a__b", "_a", "a_", "x".repeat(33)])
      expect(validateAdvanced({ ...defaults(), naming: "own", prefix })).toHaveProperty("prefix");
    expect(validateAdvanced({ ...defaults(), naming: "own", prefix: "my-files_2" })).toEqual({});
  });

  it("needs a name and a number of seconds for the timeout of a tool", () => {
    const of = (...lines: [string, string][]) =>
      validateAdvanced({
        ...defaults(),
        toolTimeouts: lines.map(([name, seconds]) => newToolTimeout({ name, seconds })),
      }).toolTimeouts;
    expect(of(["", "5"])).toContain("Enter the name of the tool");
    expect(of(["a", "5"], ["a", "6"])).toBe("The tool a is listed twice.");
    expect(of(["a", ""])).toContain("above 0 for a");
    expect(of(["a", "5"])).toBeUndefined();
  });
});
