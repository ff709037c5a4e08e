import { describe, expect, it } from "vitest";
import type { Sandbox } from "../../ipc";
import { toSandbox, toSandboxForm, validateSandbox } from "./sandbox";

const custom = { ...toSandboxForm(null), preset: "custom" as const };

describe("the sandbox of a server's form", () => {
  it("keeps every sandbox in a round trip", () => {
    const sandboxes: (Sandbox | null)[] = [
      null,
      { files: "listed", network: "all" },
      { files: "listed", read: ["~/project", "/srv"], network: "all" },
      { files: "all", network: "none" },
      {
        files: "listed",
        read: ["/a"],
        write: ["~/b"],
        network: "listed",
        connect: [443],
        bind: [8080],
        local_sockets: true,
      },
    ];
    for (const sandbox of sandboxes) {
      const form = toSandboxForm(sandbox);
      expect(validateSandbox(form)).toEqual({});
      expect(toSandbox(form)).toEqual(sandbox);
    }
  });

  it("keeps values of hidden fields out of the spec", () => {
    const form = { ...custom, files: "all" as const, read: "/left/over", connect: "443" };
    expect(toSandbox(form)).toMatchObject({ read: [], connect: [] });
  });

  it("reports relative paths, bad ports and a sandbox that restricts nothing", () => {
    expect(validateSandbox({ ...custom, read: "/a\nproject" })).toHaveProperty("sandboxRead");
    expect(validateSandbox({ ...custom, write: "~me/x" })).toHaveProperty("sandboxWrite");
    for (const port of ["70000", "http", "-1"])
      expect(validateSandbox({ ...custom, network: "listed", connect: port })).toHaveProperty(
        "sandboxConnect",
      );
    expect(validateSandbox({ ...custom, preset: "readProject" })).toHaveProperty("sandboxRead");
    expect(validateSandbox({ ...custom, files: "all", localSockets: true })).toHaveProperty(
      "sandbox",
    );
  });
});
