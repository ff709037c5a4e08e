/** The backend for a browser: verbs over HTTP, events over SSE, a cookie from a one-time link. */

import { texts } from "../texts";
import { IpcError, toIpcError, type Event, type Ipc, type Verb, type Verbs } from ".";

const RETRY_MS = 2000;
const t = texts.state.errors;

export async function httpIpc(): Promise<Ipc> {
  await signIn();
  return { desktop: null, opensBrowser: false, call, subscribe };
}

/** Exchanges `#login=CODE` for a cookie, and removes the code from the address. */
async function signIn(): Promise<void> {
  const code = /^#login=(.+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(null, "", location.pathname + location.search);
  // Ignores a code that is used or expired: without a cookie the first verb fails with 401.
  await post("/api/login", { code: decodeURIComponent(code) }).catch(() => undefined);
}

async function call<V extends Verb>(
  verb: V,
  params: Verbs[V]["params"],
): Promise<Verbs[V]["answer"]> {
  const response = await post(`/api/verbs/${verb}`, params);
  const body: unknown = await response.json().catch(() => null);
  if (response.ok) return body as Verbs[V]["answer"];
  if (response.status === 401) throw new IpcError("signed_out", t.signedOut);
  if (typeof body === "object" && body !== null && "error" in body) throw toIpcError(body.error);
  throw new IpcError("internal", t.noReason(response.status));
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
    throw new IpcError("unavailable", t.notReachable);
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
      // A browser reopens a broken stream, but not a refused one.
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
