/** The hooks of the fake hub. */

import type { Hook, HookEvent, HookRun, HookSample, HookTrial, HookView } from "../bindings";

function view(hook: Partial<Hook> & Pick<Hook, "name" | "target">, runs: HookRun[]): HookView {
  const failures = runs.filter((run) => run.effect === "failed").length;
  return {
    events: ["tool_executed"],
    mode: "observe",
    server: null,
    tool: null,
    timeout_ms: 5000,
    on_failure: "allow",
    with_result: false,
    enabled: true,
    ...hook,
    state: { runs: runs.length, failures, dropped: 0, last: runs[0] ?? null },
  };
}

function run(part: Partial<HookRun> & Pick<HookRun, "hook">, minutesAgo: number): HookRun {
  return {
    at: Date.now() - minutesAgo * 60_000,
    event: "tool_executed",
    server: "filesystem",
    tool: "read_text_file",
    effect: "continued",
    reason: "",
    duration_ms: 38,
    is_trial: false,
    ...part,
  };
}

export function hookRuns(): HookRun[] {
  return [
    run(
      {
        hook: "no-deletes",
        event: "tool_requested",
        tool: "delete_file",
        effect: "denied",
        reason: "nothing is deleted on weekdays",
      },
      2,
    ),
    run({ hook: "call-log" }, 3),
    run(
      {
        hook: "mask-tokens",
        effect: "failed",
        reason: "it did not answer within 5 s",
        duration_ms: 5000,
      },
      8,
    ),
    run({ hook: "mask-tokens", effect: "replaced_result", duration_ms: 61 }, 9),
  ];
}

export function hooks(runs: HookRun[]): HookView[] {
  const runsOf = (name: string) => runs.filter(({ hook }) => hook === name);
  return [
    view(
      {
        name: "no-deletes",
        events: ["tool_requested"],
        mode: "blocking",
        server: "filesystem",
        on_failure: "deny",
        target: { kind: "command", program: "python3", args: ["/home/me/hooks/guard.py"], env: {} },
      },
      runsOf("no-deletes"),
    ),
    view(
      {
        name: "mask-tokens",
        mode: "blocking",
        target: {
          kind: "webhook",
          url: "https://hooks.example.com/mask",
          headers: { Authorization: "${keyring:hook:mask-tokens.Authorization}" },
        },
      },
      runsOf("mask-tokens"),
    ),
    view(
      {
        name: "call-log",
        events: ["tool_executed", "server_connected", "server_disconnected"],
        target: { kind: "command", program: "tee", args: ["-a", "/home/me/calls.jsonl"], env: {} },
      },
      runsOf("call-log"),
    ),
  ];
}

export function samples(): HookSample[] {
  const payloads: Record<HookEvent, unknown> = {
    server_connected: { server_name: "example", transport: "stdio", tool_count: 3 },
    server_disconnected: { server_name: "example", transport: "stdio", had_session: true },
    tool_requested: { server_name: "example", tool_name: "echo", arguments: { message: "Hello" } },
    tool_executed: { server_name: "example", tool_name: "echo", success: true },
  };
  return Object.entries(payloads).map(([event, payload]) => ({
    event: event as HookEvent,
    payload: JSON.stringify(payload, null, 2),
  }));
}

export function runTrial(hook: Hook, event: HookEvent, payload: string | null): HookTrial {
  const input = JSON.stringify({
    hook: hook.name,
    event,
    mode: hook.mode,
    at: Date.now(),
    payload: JSON.parse(payload ?? "{}") as unknown,
  });
  const denies = hook.mode === "blocking" && event === "tool_requested";
  return {
    input,
    output: denies ? '{"action":"deny","reason":"nothing is deleted on weekdays"}' : "",
    effect: denies ? "denied" : "continued",
    reason: denies ? "nothing is deleted on weekdays" : "",
    duration_ms: 42,
  };
}
