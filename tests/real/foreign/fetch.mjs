// Runs a handler of the Fetch API, `(Request) => Promise<Response>`, as an HTTP server on loopback.
import { createServer } from "node:http";
import { Readable } from "node:stream";

export function listen(port, handle) {
  const server = createServer(async (incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const body = method === "POST" ? Readable.toWeb(incoming) : undefined;
    const request = new Request(`http://${headers.host}${url}`, { method, headers, body, duplex: "half" });
    const response = await handle(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body) Readable.fromWeb(response.body).on("error", () => outgoing.destroy()).pipe(outgoing);
    else outgoing.end();
  });
  server.listen(port, "127.0.0.1");
}
