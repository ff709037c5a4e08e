import { describe, expect, it } from "vitest";
import type { AccessSummary } from "../../ipc";
import { listUses } from "./accessReport";

const nothing: AccessSummary = {
  files: [],
  addresses: [],
  programs: [],
  refused_calls: [],
  ordinary: 0,
  omitted: 0,
  elsewhere: 0,
  unreadable: 0,
  uses_io_uring: false,
};

describe("the uses of an access report", () => {
  it("are in sections, and refusals come first", () => {
    const sections = listUses({
      ...nothing,
      files: [
        { path: "/a", access: "read", is_folder: true, files: 3, refused: false },
        { path: "/b", access: "write", is_folder: false, files: 1, refused: false },
        { path: "/c", access: "read", is_folder: false, files: 1, refused: true },
      ],
      addresses: [
        { kind: "connect", address: "10.0.0.1", port: 443, refused: false },
        { kind: "connect", address: "10.0.0.2", port: 22, refused: true },
      ],
      programs: [{ path: "/usr/bin/git", refused: false }],
      refused_calls: ["io_uring"],
    });
    expect(sections).toEqual([
      {
        kind: "refused",
        uses: ["read /c", "connect to 10.0.0.2, TCP port 22", "use io_uring"],
      },
      { kind: "read", uses: ["/a/ (3 files)"] },
      { kind: "written", uses: ["/b"] },
      { kind: "connected", uses: ["connect to 10.0.0.1, TCP port 443"] },
      { kind: "started", uses: ["/usr/bin/git"] },
    ]);
  });

  it("have no section if nothing was used", () => {
    expect(listUses(nothing)).toEqual([]);
  });
});
