import { describe, expect, it } from "vitest";
import type { ServerSpec } from "../../ipc";
import { createForm, findFirstError, newRow, toDraft, toForm, validateForm } from "./form";

function filled() {
  return { ...createForm(), name: "files", command: `npx -y server "/my files"` };
}

describe("a server's form", () => {
  it("makes a spec from a command line", () => {
    const { spec } = toDraft(filled());
    expect(spec).toMatchObject({
      name: "files",
      command: "npx",
      args: ["-y", "server", "/my files"],
      url: null,
      cwd: null,
      enabled: true,
    });
  });

  it("sends secrets apart from the spec", () => {
    const form = {
      ...filled(),
      env: [
        newRow({ key: "TOKEN", value: "s3cret", secret: true }),
        newRow({ key: "LANG", value: "C" }),
      ],
    };
    const { spec, secrets } = toDraft(form);
    expect(spec.env).toEqual({ LANG: "C" });
    expect(secrets).toEqual({ env: { TOKEN: "s3cret" }, headers: {} });
    expect(JSON.stringify(spec)).not.toContain("s3cret");
  });

  it("keeps a reference to a stored secret until it is replaced", () => {
    const form = toForm({ name: "x", command: "run", env: { KEY: "${keyring:x/KEY}" } }, "x");
    expect(form.env[0]).toMatchObject({ reference: "${keyring:x/KEY}", value: "", secret: true });
    expect(toDraft(form)).toMatchObject({
      spec: { env: { KEY: "${keyring:x/KEY}" } },
      secrets: { env: {} },
    });
    const row = form.env[0];
    if (row) Object.assign(row, { reference: null, value: "new" });
    expect(toDraft(form)).toMatchObject({ spec: { env: {} }, secrets: { env: { KEY: "new" } } });
  });

  it("marks likely secrets as secret", () => {
    const form = toForm({ command: "run", env: { API_KEY: "abc", MODE: "fast" } }, "x", [
      "API_KEY",
    ]);
    expect(form.env.map((row) => row.secret)).toEqual([true, false]);
  });

  it("keeps the advanced fields, and whether the server is enabled", () => {
    const base: ServerSpec = {
      name: "x",
      command: "run",
      retries: 1,
      lifecycle: "transient",
      enabled: false,
    };
    expect(toDraft(toForm(base, "x"), base).spec).toMatchObject({
      lifecycle: "transient",
      enabled: false,
      retries: 1,
    });
  });

  it("drops the fields of the other kind", () => {
    const base = {
      name: "x",
      command: "run",
      args: ["a"],
      env: { A: "1" },
      cwd: "/tmp",
      transport: "stdio" as const,
    };
    const form = { ...toForm(base, "x"), kind: "remote" as const, url: "https://example.org/mcp" };
    expect(toDraft(form, base).spec).toMatchObject({
      command: null,
      args: [],
      env: {},
      cwd: null,
      transport: null,
      url: "https://example.org/mcp",
    });
  });

  it("keeps the transport of an HTTP+SSE server, and omits the default unless the spec named it", () => {
    const url = "http://localhost:3001/sse";
    const old = { name: "x", url, transport: "sse" as const };
    expect(toDraft(toForm(old, "x"), old).spec.transport).toBe("sse");
    expect(toDraft({ ...toForm(old, "x"), transport: "http" }, old).spec.transport).toBeNull();
    expect(toDraft(toForm({ name: "x", url }, "x"), { name: "x", url }).spec.transport).toBeNull();
    expect(
      toDraft(toForm({ name: "x", url, transport: "http" }, "x"), { url, transport: "http" }).spec
        .transport,
    ).toBe("http");
    expect(
      toDraft({ ...toForm(old, "x"), kind: "local", command: "run" }, old).spec.transport,
    ).toBeNull();
  });

  it("keeps one session per client if it is chosen", () => {
    expect(toDraft(filled()).spec.isolation).toBe("shared");
    const { spec } = toDraft({ ...filled(), isolation: "per_client" });
    expect(spec.isolation).toBe("per_client");
    expect(toForm(spec, "x").isolation).toBe("per_client");
  });

  it("round-trips a program that listens on a URL", () => {
    const form = {
      ...filled(),
      listens: true,
      url: "http://127.0.0.1:3001/sse",
      transport: "sse" as const,
      headers: [newRow({ key: "X-A", value: "1" })],
    };
    const { spec } = toDraft(form);
    expect(spec).toMatchObject({
      command: "npx",
      url: "http://127.0.0.1:3001/sse",
      transport: "sse",
      headers: { "X-A": "1" },
    });
    expect(toForm(spec, "files")).toMatchObject({
      kind: "local",
      listens: true,
      url: "http://127.0.0.1:3001/sse",
      transport: "sse",
    });
    // The hub infers no transport for a program with a URL.
    expect(toDraft({ ...form, transport: "http" }).spec.transport).toBe("http");
    expect(toDraft({ ...form, listens: false }, spec).spec).toMatchObject({
      url: null,
      transport: null,
      headers: {},
    });
  });

  it("accepts only a URL on this computer for a program", () => {
    const urlError = (url: string) => validateForm({ ...filled(), listens: true, url }).url;
    for (const url of [
      "http://127.0.0.1:3001/sse",
      "http://localhost:1/mcp",
      "http://[::1]:8080/mcp",
    ])
      expect(urlError(url)).toBeUndefined();
    expect(urlError("https://example.org/mcp")).toContain("on this computer");
    expect(urlError("http://127.evil.example/mcp")).toContain("on this computer");
    expect(urlError("")).toContain("that the program listens on");
  });

  it("drops fields that a remote or a local server cannot have", () => {
    const base: ServerSpec = {
      name: "x",
      command: "npx",
      runtime_hint: "npx",
      lifecycle: "transient",
    };
    expect(
      toDraft({ ...toForm(base, "x"), kind: "remote", url: "https://example.org/mcp" }, base).spec,
    ).toMatchObject({ runtime_hint: null, lifecycle: "singleton" });
    const remote: ServerSpec = {
      name: "x",
      url: "https://example.org/mcp",
      bearer_token: "${keyring:x/token}",
    };
    expect(toDraft(toForm(remote, "x"), remote).spec.bearer_token).toBe("${keyring:x/token}");
    expect(
      toDraft({ ...toForm(remote, "x"), kind: "local", command: "run" }, remote).spec.bearer_token,
    ).toBeNull();
  });

  it("keeps unknown fields of the spec file", () => {
    const base = { name: "x", command: "run", "x-note": { kept: true } } as ServerSpec;
    expect(toDraft(toForm(base, "x"), base).spec).toMatchObject({ "x-note": { kept: true } });
  });

  it("finds the first error, also in the advanced part", () => {
    const form = filled();
    form.advanced.retries = "many";
    expect(validateForm(form)).toEqual({
      advanced: { retries: "Enter a whole number from 0 to 100." },
    });
    expect(findFirstError(validateForm(form))).toBe("Enter a whole number from 0 to 100.");
    expect(findFirstError(validateForm({ ...form, name: "" }))).toContain("Enter a name");
    expect(findFirstError({})).toBe("");
  });

  it("reports missing fields", () => {
    expect(validateForm(createForm())).toEqual({
      name: expect.any(String) as string,
      command: "Enter the command that starts the server.",
    });
    expect(
      validateForm({ ...createForm(), name: "x", kind: "remote", url: "example.org" }).url,
    ).toContain("https://");
    expect(validateForm({ ...filled(), command: `run "half` }).command).toContain(
      "without a closing one",
    );
    expect(validateForm(filled())).toEqual({});
  });

  it("rejects a duplicate name, a secret without a value, and a value without a name", () => {
    expect(
      validateForm({
        ...filled(),
        env: [newRow({ key: "A", value: "1" }), newRow({ key: "A", value: "2" })],
      }).env,
    ).toBe("The variable A is listed twice.");
    expect(validateForm({ ...filled(), env: [newRow({ key: "A", secret: true })] }).env).toBe(
      "The secret A has no value.",
    );
    expect(validateForm({ ...filled(), env: [newRow({ value: "x" })] }).env).toBe(
      "A variable has a value but no name. Enter its name.",
    );
  });
});
