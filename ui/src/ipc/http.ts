/** A browser: verbs over HTTP, events over SSE, signed in by a cookie that a one-time link sets. */

import { IpcError, toIpcError, type Event, type Ipc, type Verb, type Verbs } from ".";

const RETRY_MS = 2000;
const UNREACHABLE =
  "Drawbridge is not reachable. Check that it is still running; this page tries again by itself.";

export async function httpIpc(): Promise<Ipc> {
  await signIn();
  return { opensBrowser: false, call, subscribe };
}

/** Trades `#login=CODE` for a cookie, and takes the code out of the address. */
async function signIn(): Promise<void> {
  const code = /^#login=(.+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(null, "", location.pathname + location.search);
  // A code that is used up or too old is no error here: without a cookie the first verb answers 401.
  await post("/api/login", { code: decodeURIComponent(code) }).catch(() => undefined);
}

async function call<V extends Verb>(
  verb: V,
  params: Verbs[V]["params"],
): Promise<Verbs[V]["answer"]> {
  const response = await post(`/api/verbs/${verb}`, params);
  const body: unknown = await response.json().catch(() => null);
  if (response.ok) return body as Verbs[V]["answer"];
  if (response.status === 401) throw new IpcError("signed_out", "This browser is not signed in.");
  if (typeof body === "object" && body !== null && "error" in body) throw toIpcError(body.error);
  throw new IpcError(
    "internal",
    `Drawbridge answered with HTTP status ${response.status} and no reason.`,
  );
}

async function post(path: string, body: unknown): Promise<Response> {
  try {
    return await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      credentials: "same-origin",
      body: JSON.stringify(body),
    });
  } catch {
    throw new IpcError("unavailable", UNREACHABLE);
  }
}

function subscribe(
  onEvent: (event: Event) => void,
  onConnection?: (connected: boolean) => void,
): () => void {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function open(): void {
    source = new EventSource("/api/events");
    source.onopen = () => onConnection?.(true);
    source.onmessage = (message: MessageEvent<string>) =>
      onEvent(JSON.parse(message.data) as Event);
    source.onerror = () => {
      onConnection?.(false);
      // A browser retries a broken stream itself, but gives up on a refused one.
      if (source?.readyState !== EventSource.CLOSED) return;
      clearTimeout(timer);
      timer = setTimeout(open, RETRY_MS);
    };
  }

  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}
