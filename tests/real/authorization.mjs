// Starts a protected MCP server (official SDK) and a real authorization server (oidc-provider) on
// loopback. Prints {"server", "issuer", "control"} as its first line. `control` is a URL: GET
// returns the recorded requests, and POST {"name": value} changes a setting.
//
// With the arguments `browse URL`, the program acts as the browser of a person who signs in and
// consents, and prints the last page.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import express from "express";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";

if (process.argv[2] === "browse") await browse(process.argv[3]);
else await serve();

async function serve() {
  const listen = (app) => new Promise((done) => { const server = createServer(app).listen(0, "127.0.0.1", () => done(server)); });
  const origin = (server) => `http://127.0.0.1:${server.address().port}`;
  const [authApp, serverApp, controlApp] = [express(), express(), express()];
  const [issuer, resource, control] = (await Promise.all([authApp, serverApp, controlApp].map(listen))).map(origin);

  // `iss` replaces the issuer in redirects. The authorization server grants only the
  // `grantable_scope`. A 403 response names the `demanded_scope`, or no scope if it is `null`.
  const settings = {
    token_lifetime: 3600,
    iss: null,
    metadata: {},
    authorization_servers: [issuer],
    refuse_refresh: false,
    grantable_scope: "mcp",
    demanded_scope: "change",
  };
  // `authorization_code` and `refresh_token` count the token requests of each grant type.
  const recorded = {
    authorization_code: 0,
    refresh_token: 0,
    registrations: [],
    calls: 0,
    requested_resources: [],
    token_authentication: [],
    requested_scopes: [],
  };
  controlApp.use(express.json());
  controlApp.get("/", (_, res) => res.json(recorded));
  controlApp.post("/", (req, res) => { Object.assign(settings, req.body); res.json(settings); });

  const { default: Provider } = await import("oidc-provider");
  // The preregistered clients: one for each way to authenticate at the token endpoint.
  const preregister = (client_id, token_endpoint_auth_method) => ({
    client_id, token_endpoint_auth_method, application_type: "native", redirect_uris: ["http://127.0.0.1/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    ...(token_endpoint_auth_method === "none" ? {} : { client_secret: `${client_id}: a secret/of the tests` }),
  });
  const provider = new Provider(issuer, {
    scopes: ["mcp", "change", "offline_access"],
    clients: [preregister("basic", "client_secret_basic"), preregister("post", "client_secret_post"), preregister("public", "none")],
    cookies: { keys: [randomUUID()] },
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, requested) => {
          recorded.requested_resources.push(requested);
          if (requested !== `${resource}/mcp`) throw new Error(`no such resource: ${requested}`);
          return { scope: settings.grantable_scope, audience: requested, accessTokenTTL: settings.token_lifetime, accessTokenFormat: "opaque" };
        },
      },
    },
    issueRefreshToken: () => true,
    ttl: { AccessToken: () => settings.token_lifetime },
  });
  provider.on("registration_create.success", (_, client) => recorded.registrations.push(client.metadata()));

  authApp.use(["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"], async (req, res, next) => {
    if ("original" in req.query) return next();
    const original = await fetch(`${issuer}/.well-known/openid-configuration?original`).then((response) => response.json());
    res.json({ ...original, ...settings.metadata });
  });
  authApp.use("/token", express.text({ type: "application/x-www-form-urlencoded" }), (req, res, next) => {
    const form = new URLSearchParams(req.body);
    recorded[form.get("grant_type")] += 1;
    recorded.token_authentication.push(/^basic /i.test(req.headers.authorization ?? "") ? "basic" : form.has("client_secret") ? "post" : "none");
    if (settings.refuse_refresh && form.get("grant_type") === "refresh_token") return res.status(400).json({ error: "invalid_grant" });
    req.body = Object.fromEntries(form);
    next();
  });
  authApp.use("/auth", (req, res, next) => { if (req.query.scope !== undefined) recorded.requested_scopes.push(req.query.scope); next(); });
  // Simulates a mix-up attack: the redirect names another issuer in `iss`.
  authApp.use((_, res, next) => {
    const { setHeader } = res;
    res.setHeader = (name, value) => {
      if (settings.iss !== null && name.toLowerCase() === "location" && value.includes("code=")) {
        const to = new URL(value);
        to.searchParams.set("iss", settings.iss);
        value = to.href;
      }
      return setHeader.call(res, name, value);
    };
    next();
  });
  authApp.use(provider.callback());

  const metadata = `${resource}/.well-known/oauth-protected-resource/mcp`;
  serverApp.get("/.well-known/oauth-protected-resource/mcp", (_, res) => {
    res.json({ resource: `${resource}/mcp`, authorization_servers: settings.authorization_servers, scopes_supported: ["mcp"] });
  });
  const verifier = {
    async verifyAccessToken(token) {
      const found = await provider.AccessToken.find(token);
      if (!found || found.aud !== `${resource}/mcp`) throw new InvalidTokenError("no such token");
      return { token, clientId: found.clientId, scopes: [...found.scopes], expiresAt: found.exp };
    },
  };
  serverApp.use("/mcp", requireBearerAuth({ verifier, requiredScopes: ["mcp"], resourceMetadataUrl: metadata }), express.json());
  // The tool `change` needs a scope of its own.
  serverApp.post("/mcp", (req, res, next) => {
    if (req.body.params?.name !== "change" || req.auth.scopes.includes("change")) return next();
    const scope = settings.demanded_scope ? `, scope="${settings.demanded_scope}"` : "";
    res.status(403).set("WWW-Authenticate", `Bearer error="insufficient_scope"${scope}, resource_metadata="${metadata}"`).end();
  });
  const sessions = new Map();
  serverApp.all("/mcp", async (req, res) => {
    const known = sessions.get(req.headers["mcp-session-id"]);
    if (known) return known.handleRequest(req, res, req.body);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    const server = new McpServer({ name: "protected", version: "1" });
    server.registerTool("whoami", { description: "Returns the client of the token." }, async ({ authInfo }) => {
      recorded.calls += 1;
      return { content: [{ type: "text", text: `client ${authInfo.clientId}` }] };
    });
    server.registerTool("change", { description: "Needs a scope of its own." }, async () => ({ content: [{ type: "text", text: "changed" }] }));
    await server.connect(transport);
    await transport.handleRequest(req, res, req.body);
  });
  console.log(JSON.stringify({ server: `${resource}/mcp`, issuer, control }));
}

/** Follows redirects, and submits the forms of the authorization server. */
async function browse(url) {
  const jars = new Map();
  let [to, options, page] = [new URL(url), {}, ""];
  for (let step = 0; step < 20; step += 1) {
    const jar = jars.get(to.origin) ?? new Map();
    jars.set(to.origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(to, { ...options, redirect: "manual", headers: { ...options.headers, cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0].split("=", 2);
      jar.set(name, value);
    }
    options = {};
    const location = response.headers.get("location");
    if (location) { to = new URL(location, to); continue; }
    page = await response.text();
    const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1];
    if (!action) break;
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1] ?? "";
    to = new URL(action, to);
    options = { method: "POST", body: new URLSearchParams({ prompt, login: "ada", password: "any" }), headers: { "content-type": "application/x-www-form-urlencoded" } };
  }
  console.log(JSON.stringify({ at: to.href, page }));
}
