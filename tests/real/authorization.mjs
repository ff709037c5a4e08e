// A protected MCP server on the official SDK, and before it a real authorization server (oidc-provider), both on
// loopback. Prints {"server", "issuer", "control"} as its first line. `control` is a URL: GET tells what happened
// so far, POST {"name": value} turns a knob. With `browse URL` as arguments it is the browser of a person instead:
// it signs in there, agrees, and prints the last page that it saw.
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
  const [front, back, desk] = [express(), express(), express()];
  const [issuer, resource, control] = (await Promise.all([front, back, desk].map(listen))).map(origin);

  // What a test turns, and what it sees.
  const knobs = { token_lasts: 3600, iss: null, metadata: {}, authorization_servers: [issuer], refuse_refresh: false, scope: "mcp", demands: "change" };
  const seen = { authorization_code: 0, refresh_token: 0, registrations: [], calls: 0, refused: 0, resources: [], authenticated: [], scopes: [] };
  desk.use(express.json());
  desk.get("/", (_, res) => res.json(seen));
  desk.post("/", (req, res) => { Object.assign(knobs, req.body); res.json(knobs); });

  const { default: Provider } = await import("oidc-provider");
  // Clients that a person has registered, one for each way to show who it is to the token endpoint.
  const byHand = (client_id, token_endpoint_auth_method) => ({
    client_id, token_endpoint_auth_method, application_type: "native", redirect_uris: ["http://127.0.0.1/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    ...(token_endpoint_auth_method === "none" ? {} : { client_secret: `${client_id}: a secret/of the tests` }),
  });
  const provider = new Provider(issuer, {
    scopes: ["mcp", "change", "offline_access"],
    clients: [byHand("basic", "client_secret_basic"), byHand("post", "client_secret_post"), byHand("public", "none")],
    cookies: { keys: [randomUUID()] },
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, named) => {
          seen.resources.push(named);
          if (named !== `${resource}/mcp`) throw new Error(`no such resource: ${named}`);
          return { scope: knobs.scope, audience: named, accessTokenTTL: knobs.token_lasts, accessTokenFormat: "opaque" };
        },
      },
    },
    issueRefreshToken: () => true,
    ttl: { AccessToken: () => knobs.token_lasts },
  });
  provider.on("registration_create.success", (_, client) => seen.registrations.push(client.metadata()));

  front.use(["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"], async (req, res, next) => {
    if ("plain" in req.query) return next();
    const plain = await fetch(`${issuer}/.well-known/openid-configuration?plain`).then((answer) => answer.json());
    res.json({ ...plain, ...knobs.metadata });
  });
  front.use("/token", express.text({ type: "application/x-www-form-urlencoded" }), (req, res, next) => {
    const form = new URLSearchParams(req.body);
    seen[form.get("grant_type")] += 1;
    seen.authenticated.push(/^basic /i.test(req.headers.authorization ?? "") ? "basic" : form.has("client_secret") ? "post" : "none");
    if (knobs.refuse_refresh && form.get("grant_type") === "refresh_token") return res.status(400).json({ error: "invalid_grant" });
    req.body = Object.fromEntries(form);
    next();
  });
  front.use("/auth", (req, res, next) => { if (req.query.scope !== undefined) seen.scopes.push(req.query.scope); next(); });
  // A mixed-up answer: it names another issuer than the one that gives it.
  front.use((_, res, next) => {
    const { setHeader } = res;
    res.setHeader = (name, value) => {
      if (knobs.iss !== null && name.toLowerCase() === "location" && value.includes("code=")) {
        const to = new URL(value);
        to.searchParams.set("iss", knobs.iss);
        value = to.href;
      }
      return setHeader.call(res, name, value);
    };
    next();
  });
  front.use(provider.callback());

  const metadata = `${resource}/.well-known/oauth-protected-resource/mcp`;
  back.get("/.well-known/oauth-protected-resource/mcp", (_, res) => {
    res.json({ resource: `${resource}/mcp`, authorization_servers: knobs.authorization_servers, scopes_supported: ["mcp"] });
  });
  const verifier = {
    async verifyAccessToken(token) {
      const found = await provider.AccessToken.find(token);
      if (!found || found.aud !== `${resource}/mcp`) throw new InvalidTokenError("no such token");
      return { token, clientId: found.clientId, scopes: [...found.scopes], expiresAt: found.exp };
    },
  };
  back.use("/mcp", (_, res, next) => { res.on("finish", () => { if (res.statusCode === 401) seen.refused += 1; }); next(); });
  back.use("/mcp", requireBearerAuth({ verifier, requiredScopes: ["mcp"], resourceMetadataUrl: metadata }), express.json());
  // A tool that needs more than the others.
  back.post("/mcp", (req, res, next) => {
    if (req.body.params?.name !== "change" || req.auth.scopes.includes("change")) return next();
    const scope = knobs.demands ? `, scope="${knobs.demands}"` : "";
    res.status(403).set("WWW-Authenticate", `Bearer error="insufficient_scope"${scope}, resource_metadata="${metadata}"`).end();
  });
  const sessions = new Map();
  back.all("/mcp", async (req, res) => {
    const known = sessions.get(req.headers["mcp-session-id"]);
    if (known) return known.handleRequest(req, res, req.body);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    const server = new McpServer({ name: "protected", version: "1" });
    server.registerTool("whoami", { description: "Says whose token it was." }, async ({ authInfo }) => {
      seen.calls += 1;
      return { content: [{ type: "text", text: `client ${authInfo.clientId}` }] };
    });
    server.registerTool("change", { description: "Needs a scope of its own." }, async () => ({ content: [{ type: "text", text: "changed" }] }));
    await server.connect(transport);
    await transport.handleRequest(req, res, req.body);
  });
  console.log(JSON.stringify({ server: `${resource}/mcp`, issuer, control }));
}

/** Follows redirects and fills in the forms that the authorization server shows. */
async function browse(url) {
  const jars = new Map();
  let [to, options, page] = [new URL(url), {}, ""];
  for (let step = 0; step < 20; step += 1) {
    const jar = jars.get(to.origin) ?? new Map();
    jars.set(to.origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(to, { ...options, redirect: "manual", headers: { ...options.headers, cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0].split("=", 2);
      jar.set(name, value);
    }
    options = {};
    const location = answer.headers.get("location");
    if (location) { to = new URL(location, to); continue; }
    page = await answer.text();
    const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1];
    if (!action) break;
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1] ?? "";
    to = new URL(action, to);
    options = { method: "POST", body: new URLSearchParams({ prompt, login: "ada", password: "any" }), headers: { "content-type": "application/x-www-form-urlencoded" } };
  }
  console.log(JSON.stringify({ at: to.href, page }));
}
