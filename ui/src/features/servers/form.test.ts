import { describe, expect, it } from "vitest";
import type { ServerSpec } from "../../ipc";
import { draftOf, emptyForm, faultsOf, formOf, newRow } from "./form";

function filled() {
  return { ...emptyForm(), name: "files", command: `npx -y server "/my files"` };
}

describe("a server's form", () => {
  it("makes a spec of a command line", () => {
    const { spec } = draftOf(filled());
    expect(spec).toMatchObject({ name: "files", command: "npx", args: ["-y", "server", "/my files"], url: null, cwd: null, enabled: true });
  });

  it("sends secrets apart and leaves their keys out of the spec", () => {
    const form = { ...filled(), env: [newRow({ key: "TOKEN", value: "s3cret", secret: true }), newRow({ key: "LANG", value: "C" })] };
    const { spec, secrets } = draftOf(form);
    expect(spec.env).toEqual({ LANG: "C" });
    expect(secrets).toEqual({ env: { TOKEN: "s3cret" }, headers: {} });
    expect(JSON.stringify(spec)).not.toContain("s3cret");
  });

  it("keeps a reference to the keyring until it is replaced", () => {
    const form = formOf({ name: "x", command: "run", env: { KEY: "${keyring:x/KEY}" } }, "x");
    expect(form.env[0]).toMatchObject({ kept: "${keyring:x/KEY}", value: "", secret: true });
    expect(draftOf(form)).toMatchObject({ spec: { env: { KEY: "${keyring:x/KEY}" } }, secrets: { env: {} } });
    const row = form.env[0];
    if (row) Object.assign(row, { kept: null, value: "new" });
    expect(draftOf(form)).toMatchObject({ spec: { env: {} }, secrets: { env: { KEY: "new" } } });
  });

  it("ticks what looks like a secret", () => {
    const form = formOf({ command: "run", env: { API_KEY: "abc", MODE: "fast" } }, "x", ["API_KEY"]);
    expect(form.env.map((row) => row.secret)).toEqual([true, false]);
  });

  it("keeps what a spec holds beyond the form", () => {
    const base: ServerSpec = { name: "x", command: "run", retries: 1, lifecycle: "transient", enabled: false };
    expect(draftOf(formOf(base, "x"), base).spec).toMatchObject({ lifecycle: "transient", enabled: false, retries: 1 });
  });

  it("drops what belongs to the other kind", () => {
    const base = { name: "x", command: "run", args: ["a"], env: { A: "1" }, cwd: "/tmp", transport: "stdio" as const };
    const form = { ...formOf(base, "x"), kind: "remote" as const, url: "https://example.org/mcp" };
    expect(draftOf(form, base).spec).toMatchObject({ command: null, args: [], env: {}, cwd: null, transport: null, url: "https://example.org/mcp" });
  });

  it("keeps the transport of an older server, and names the usual one only where it was named", () => {
    const url = "http://localhost:3001/sse";
    const old = { name: "x", url, transport: "sse" as const };
    expect(draftOf(formOf(old, "x"), old).spec.transport).toBe("sse");
    expect(draftOf({ ...formOf(old, "x"), transport: "http" }, old).spec.transport).toBeNull();
    expect(draftOf(formOf({ name: "x", url }, "x"), { name: "x", url }).spec.transport).toBeNull();
    expect(draftOf(formOf({ name: "x", url, transport: "http" }, "x"), { url, transport: "http" }).spec.transport).toBe("http");
    expect(draftOf({ ...formOf(old, "x"), kind: "local", command: "run" }, old).spec.transport).toBeNull();
  });

  it("gives each client a session of its own where that is wanted, and keeps it so", () => {
    expect(draftOf(filled()).spec.isolation).toBe("shared");
    const { spec } = draftOf({ ...filled(), isolation: "per_client" });
    expect(spec.isolation).toBe("per_client");
    expect(formOf(spec, "x").isolation).toBe("per_client");
  });

  it("says what is missing", () => {
    expect(faultsOf(emptyForm())).toEqual({ name: expect.any(String) as string, command: "Give the command that starts it." });
    expect(faultsOf({ ...emptyForm(), name: "x", kind: "remote", url: "example.org" }).url).toContain("https://");
    expect(faultsOf({ ...filled(), command: `run "half` }).command).toContain("not closed");
    expect(faultsOf(filled())).toEqual({});
  });

  it("refuses a name that stands twice and a secret without a value", () => {
    expect(faultsOf({ ...filled(), env: [newRow({ key: "A", value: "1" }), newRow({ key: "A", value: "2" })] }).env).toBe("The variable A stands twice.");
    expect(faultsOf({ ...filled(), env: [newRow({ key: "A", secret: true })] }).env).toBe("The secret A has no value.");
    expect(faultsOf({ ...filled(), env: [newRow({ value: "x" })] }).env).toBe("A variable has a value and no name.");
  });
});
