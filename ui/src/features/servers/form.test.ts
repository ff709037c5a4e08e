import { describe, expect, it } from "vitest";
import type { ServerSpec } from "../../ipc";
import { draftOf, emptyForm, faultsOf, firstFault, formOf, newRow } from "./form";

function filled() {
  return { ...emptyForm(), name: "files", command: `npx -y server "/my files"` };
}

describe("a server's form", () => {
  it("makes a spec of a command line", () => {
    const { spec } = draftOf(filled());
    expect(spec).toMatchObject({
      name: "files",
      command: "npx",
      args: ["-y", "server", "/my files"],
      url: null,
      cwd: null,
      enabled: true,
    });
  });

  it("sends secrets apart and leaves their keys out of the spec", () => {
    const form = {
      ...filled(),
      env: [
        newRow({ key: "TOKEN", value: "s3cret", secret: true }),
        newRow({ key: "LANG", value: "C" }),
      ],
    };
    const { spec, secrets } = draftOf(form);
    expect(spec.env).toEqual({ LANG: "C" });
    expect(secrets).toEqual({ env: { TOKEN: "s3cret" }, headers: {} });
    expect(JSON.stringify(spec)).not.toContain("s3cret");
  });

  it("keeps a reference to the keyring until it is replaced", () => {
    const form = formOf({ name: "x", command: "run", env: { KEY: "${keyring:x/KEY}" } }, "x");
    expect(form.env[0]).toMatchObject({ kept: "${keyring:x/KEY}", value: "", secret: true });
    expect(draftOf(form)).toMatchObject({
      spec: { env: { KEY: "${keyring:x/KEY}" } },
      secrets: { env: {} },
    });
    const row = form.env[0];
    if (row) Object.assign(row, { kept: null, value: "new" });
    expect(draftOf(form)).toMatchObject({ spec: { env: {} }, secrets: { env: { KEY: "new" } } });
  });

  it("ticks what looks like a secret", () => {
    const form = formOf({ command: "run", env: { API_KEY: "abc", MODE: "fast" } }, "x", [
      "API_KEY",
    ]);
    expect(form.env.map((row) => row.secret)).toEqual([true, false]);
  });

  it("keeps what a spec holds beyond the form", () => {
    const base: ServerSpec = {
      name: "x",
      command: "run",
      retries: 1,
      lifecycle: "transient",
      enabled: false,
    };
    expect(draftOf(formOf(base, "x"), base).spec).toMatchObject({
      lifecycle: "transient",
      enabled: false,
      retries: 1,
    });
  });

  it("drops what belongs to the other kind", () => {
    const base = {
      name: "x",
      command: "run",
      args: ["a"],
      env: { A: "1" },
      cwd: "/tmp",
      transport: "stdio" as const,
    };
    const form = { ...formOf(base, "x"), kind: "remote" as const, url: "https://example.org/mcp" };
    expect(draftOf(form, base).spec).toMatchObject({
      command: null,
      args: [],
      env: {},
      cwd: null,
      transport: null,
      url: "https://example.org/mcp",
    });
  });

  it("keeps the transport of an older server, and names the usual one only where it was named", () => {
    const url = "http://localhost:3001/sse";
    const old = { name: "x", url, transport: "sse" as const };
    expect(draftOf(formOf(old, "x"), old).spec.transport).toBe("sse");
    expect(draftOf({ ...formOf(old, "x"), transport: "http" }, old).spec.transport).toBeNull();
    expect(draftOf(formOf({ name: "x", url }, "x"), { name: "x", url }).spec.transport).toBeNull();
    expect(
      draftOf(formOf({ name: "x", url, transport: "http" }, "x"), { url, transport: "http" }).spec
        .transport,
    ).toBe("http");
    expect(
      draftOf({ ...formOf(old, "x"), kind: "local", command: "run" }, old).spec.transport,
    ).toBeNull();
  });

  it("gives each client a session of its own where that is wanted, and keeps it so", () => {
    expect(draftOf(filled()).spec.isolation).toBe("shared");
    const { spec } = draftOf({ ...filled(), isolation: "per_client" });
    expect(spec.isolation).toBe("per_client");
    expect(formOf(spec, "x").isolation).toBe("per_client");
  });

  it("makes a program that serves a URL itself, and takes it apart again", () => {
    const form = {
      ...filled(),
      serves: true,
      url: "http://127.0.0.1:3001/sse",
      transport: "sse" as const,
      headers: [newRow({ key: "X-A", value: "1" })],
    };
    const { spec } = draftOf(form);
    expect(spec).toMatchObject({
      command: "npx",
      url: "http://127.0.0.1:3001/sse",
      transport: "sse",
      headers: { "X-A": "1" },
    });
    expect(formOf(spec, "files")).toMatchObject({
      kind: "local",
      serves: true,
      url: "http://127.0.0.1:3001/sse",
      transport: "sse",
    });
    // Nothing is inferred of one with a command and a URL.
    expect(draftOf({ ...form, transport: "http" }).spec.transport).toBe("http");
    expect(draftOf({ ...form, serves: false }, spec).spec).toMatchObject({
      url: null,
      transport: null,
      headers: {},
    });
  });

  it("wants the URL that a program serves to be on this machine", () => {
    const served = (url: string) => faultsOf({ ...filled(), serves: true, url }).url;
    for (const url of [
      "http://127.0.0.1:3001/sse",
      "http://localhost:1/mcp",
      "http://[::1]:8080/mcp",
    ])
      expect(served(url)).toBeUndefined();
    expect(served("https://example.org/mcp")).toContain("on this machine");
    expect(served("http://127.evil.example/mcp")).toContain("on this machine");
    expect(served("")).toContain("that it serves");
  });

  it("leaves what a remote server cannot have, and a local one neither", () => {
    const base: ServerSpec = {
      name: "x",
      command: "npx",
      runtime_hint: "npx",
      lifecycle: "transient",
    };
    expect(
      draftOf({ ...formOf(base, "x"), kind: "remote", url: "https://example.org/mcp" }, base).spec,
    ).toMatchObject({ runtime_hint: null, lifecycle: "singleton" });
    const remote: ServerSpec = {
      name: "x",
      url: "https://example.org/mcp",
      bearer_token: "${keyring:x/token}",
    };
    expect(draftOf(formOf(remote, "x"), remote).spec.bearer_token).toBe("${keyring:x/token}");
    expect(
      draftOf({ ...formOf(remote, "x"), kind: "local", command: "run" }, remote).spec.bearer_token,
    ).toBeNull();
  });

  it("keeps what the file holds and nobody here knows", () => {
    const base = { name: "x", command: "run", "x-note": { kept: true } } as ServerSpec;
    expect(draftOf(formOf(base, "x"), base).spec).toMatchObject({ "x-note": { kept: true } });
  });

  it("names the first fault, also one of the advanced part", () => {
    const form = filled();
    form.advanced.retries = "many";
    expect(faultsOf(form)).toEqual({ advanced: { retries: "Give a whole number from 0 to 100." } });
    expect(firstFault(faultsOf(form))).toBe("Give a whole number from 0 to 100.");
    expect(firstFault(faultsOf({ ...form, name: "" }))).toContain("Give it a name");
    expect(firstFault({})).toBe("");
  });

  it("says what is missing", () => {
    expect(faultsOf(emptyForm())).toEqual({
      name: expect.any(String) as string,
      command: "Give the command that starts it.",
    });
    expect(
      faultsOf({ ...emptyForm(), name: "x", kind: "remote", url: "example.org" }).url,
    ).toContain("https://");
    expect(faultsOf({ ...filled(), command: `run "half` }).command).toContain("not closed");
    expect(faultsOf(filled())).toEqual({});
  });

  it("refuses a name that stands twice and a secret without a value", () => {
    expect(
      faultsOf({
        ...filled(),
        env: [newRow({ key: "A", value: "1" }), newRow({ key: "A", value: "2" })],
      }).env,
    ).toBe("The variable A stands twice.");
    expect(faultsOf({ ...filled(), env: [newRow({ key: "A", secret: true })] }).env).toBe(
      "The secret A has no value.",
    );
    expect(faultsOf({ ...filled(), env: [newRow({ value: "x" })] }).env).toBe(
      "A variable has a value and no name.",
    );
  });
});
