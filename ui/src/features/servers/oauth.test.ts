import { describe, expect, it } from "vitest";
import type { ServerSpec } from "../../ipc";
import { createForm, toDraft, toForm, validateForm } from "./form";

const url = "https://example.org/mcp";
const client = { clientId: "me", secret: "hush", reference: null, port: "8123" };

describe("the OAuth client of a server's form", () => {
  it("goes into the spec, and its secret to the secret store", () => {
    const { spec, secrets } = toDraft({
      ...createForm(),
      name: "x",
      kind: "remote",
      url,
      oauth: client,
    });
    expect(spec.oauth).toEqual({ client_id: "me", callback_port: 8123 });
    expect(secrets.oauth_client).toBe("hush");
    expect(JSON.stringify(spec)).not.toContain("hush");
  });

  it("keeps a stored secret until it is replaced", () => {
    const base: ServerSpec = {
      name: "x",
      url,
      oauth: { client_id: "me", client_secret: "${keyring:x.oauth_client}" },
    };
    const form = toForm(base, "x");
    expect(form.oauth).toEqual({
      clientId: "me",
      secret: "",
      reference: "${keyring:x.oauth_client}",
      port: "",
    });
    expect(toDraft(form, base)).toMatchObject({
      spec: { oauth: base.oauth },
      secrets: { env: {}, headers: {} },
    });
    expect(
      toDraft({ ...form, oauth: { ...form.oauth, reference: null, secret: "new" } }, base),
    ).toMatchObject({ spec: { oauth: { client_id: "me" } }, secrets: { oauth_client: "new" } });
  });

  it("moves a pasted secret, or a secret in the spec file, to the secret store", () => {
    const { spec, secrets } = toDraft(
      toForm({ name: "x", url, oauth: { client_id: "me", client_secret: "plain" } }, "x"),
    );
    expect([spec.oauth, secrets.oauth_client]).toEqual([{ client_id: "me" }, "plain"]);
  });

  it("is removed with its ID, and exists only for a server with a URL", () => {
    const base: ServerSpec = { name: "x", url, oauth: { client_id: "me" } };
    const form = toForm(base, "x");
    expect(
      toDraft({ ...form, oauth: { ...form.oauth, clientId: " " } }, base).spec.oauth,
    ).toBeNull();
    expect(toDraft({ ...form, kind: "local", command: "run" }, base).spec.oauth).toBeNull();
    expect(toDraft({ ...createForm(), name: "x", command: "run" }).secrets).toEqual({
      env: {},
      headers: {},
    });
  });

  it("reports missing and invalid fields", () => {
    const errors = (part: Partial<typeof client>) =>
      validateForm({
        ...createForm(),
        name: "x",
        kind: "remote",
        url,
        oauth: { ...client, ...part },
      }).oauth;
    expect(errors({})).toBeUndefined();
    expect(errors({ clientId: "" })?.clientId).toContain("client ID");
    for (const port of ["0", "65536", "x", "-1", "80.5"])
      expect(errors({ port })?.port).toContain("65535");
  });
});
