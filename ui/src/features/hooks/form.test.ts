import { describe, expect, it } from "vitest";
import type { Hook } from "../../ipc";
import { toDraft, toForm, validate } from "./form";

const guard: Hook = {
  name: "guard",
  events: ["tool_requested"],
  mode: "blocking",
  server: "filesystem",
  tool: "write_file",
  timeout_ms: 900,
  on_failure: "deny",
  with_result: false,
  enabled: true,
  target: {
    kind: "command",
    program: "python3",
    args: ["/home/me/my hooks/guard.py", "--strict"],
    env: { MODE: "fast" },
  },
};

describe("the form of a hook", () => {
  it("returns the hook that it was filled with", () => {
    expect(toDraft(toForm(guard))).toEqual({ hook: guard, secrets: {} });
  });

  it("stores the values of lines with an exclamation mark as secrets", () => {
    const form = {
      ...toForm(),
      name: "x",
      kind: "webhook" as const,
      url: "https://example.com/",
      parts: "!Authorization=Bearer a=b\nX-Kind=calls",
    };
    expect(validate(form, [])).toEqual({});
    const { hook, secrets } = toDraft(form);
    expect(hook.target).toEqual({
      kind: "webhook",
      url: "https://example.com/",
      headers: { "X-Kind": "calls" },
    });
    expect(secrets).toEqual({ Authorization: "Bearer a=b" });
  });

  it("does not repeat a secret in its error", () => {
    const errors = validate({ ...toForm(guard), parts: "!hunter2" }, []);
    expect(errors.parts).not.toContain("hunter2");
  });

  it("says what is missing or invalid", () => {
    const empty = { ...toForm(), events: [], timeout: "5" };
    expect(Object.keys(validate(empty, []))).toEqual(["name", "events", "target", "timeout"]);
    expect(validate({ ...toForm(guard), events: ["server_connected"] }, []).events).toContain(
      "never waits",
    );
    expect(validate(toForm(guard), ["guard"]).name).toContain("exists");
  });
});
