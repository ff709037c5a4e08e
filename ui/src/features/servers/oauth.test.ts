import { describe, expect, it } from "vitest";
import type { ServerSpec } from "../../ipc";
import { draftOf, emptyForm, faultsOf, formOf } from "./form";

const url = "https://example.org/mcp";
const client = { clientId: "me", secret: "hush", kept: null, port: "8123" };

describe("the OAuth client of a server's form", () => {
  it("goes into the spec, and its secret to the keyring", () => {
    const { spec, secrets } = draftOf({
      ...emptyForm(),
      name: "x",
      kind: "remote",
      url,
      oauth: client,
    });
    expect(spec.oauth).toEqual({ client_id: "me", callback_port: 8123 });
    expect(secrets.oauth_client).toBe("hush");
    expect(JSON.stringify(spec)).not.toContain("hush");
  });

  it("keeps a secret that is in the keyring until it is replaced", () => {
    const base: ServerSpec = {
      name: "x",
      url,
      oauth: { client_id: "me", client_secret: "${keyring:x.oauth_client}" },
    };
    const form = formOf(base, "x");
    expect(form.oauth).toEqual({
      clientId: "me",
      secret: "",
      kept: "${keyring:x.oauth_client}",
      port: "",
    });
    expect(draftOf(form, base)).toMatchObject({
      spec: { oauth: base.oauth },
      secrets: { env: {}, headers: {} },
    });
    expect(
      draftOf({ ...form, oauth: { ...form.oauth, kept: null, secret: "new" } }, base),
    ).toMatchObject({ spec: { oauth: { client_id: "me" } }, secrets: { oauth_client: "new" } });
  });

  it("moves a secret that was pasted, or stands in the file, to the keyring", () => {
    const { spec, secrets } = draftOf(
      formOf({ name: "x", url, oauth: { client_id: "me", client_secret: "plain" } }, "x"),
    );
    expect([spec.oauth, secrets.oauth_client]).toEqual([{ client_id: "me" }, "plain"]);
  });

  it("is taken away when its id is emptied, and belongs to a server with a URL only", () => {
    const base: ServerSpec = { name: "x", url, oauth: { client_id: "me" } };
    const form = formOf(base, "x");
    expect(
      draftOf({ ...form, oauth: { ...form.oauth, clientId: " " } }, base).spec.oauth,
    ).toBeNull();
    expect(draftOf({ ...form, kind: "local", command: "run" }, base).spec.oauth).toBeNull();
    expect(draftOf({ ...emptyForm(), name: "x", command: "run" }).secrets).toEqual({
      env: {},
      headers: {},
    });
  });

  it("says what is missing or wrong", () => {
    const faults = (part: Partial<typeof client>) =>
      faultsOf({ ...emptyForm(), name: "x", kind: "remote", url, oauth: { ...client, ...part } })
        .oauth;
    expect(faults({})).toBeUndefined();
    expect(faults({ clientId: "" })?.clientId).toContain("client's id");
    for (const port of ["0", "65536", "x", "-1", "80.5"])
      expect(faults({ port })?.port).toContain("65535");
  });
});
