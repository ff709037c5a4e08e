/**
 * The backend for a browser: verbs over HTTP, events over SSE, both with a bearer token from a
 * one-time code. The token is in the storage of this page's origin, which other ports of this
 * computer cannot read. A cookie would be sent to those ports too.
 */

import { createParser } from "eventsource-parser";
import { texts } from "../texts";
import {
  IpcError,
  toIpcError,
  type BrowserSignIn,
  type Event,
  type Ipc,
  type Verb,
  type Verbs,
} from ".";

const RETRY_MS = 2000;
const STORAGE_KEY = "drawbridge-browser";
const t = texts.state.errors;

interface SignedIn {
  id: string;
  token: string;
}

export async function httpIpc(): Promise<Ipc> {
  const linkError = await signInByLink();
  const browser: BrowserSignIn = {
    get id() {
      return readSignIn()?.id ?? null;
    },
    linkError,
    signIn,
  };
  return { browser, desktop: null, opensBrowser: false, call, subscribe };
}

/** Returns the stored sign-in of this browser, if there is one. */
function readSignIn(): SignedIn | null {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "null") as SignedIn | null;
  } catch {
    return null;
  }
}

/**
 * Exchanges the code in `#login=CODE` for a token, and removes the code from the address. A link
 * may name the screen to show, as in `#login=CODE&screen=%23%2Fsettings`. Returns the reason if the
 * exchange failed, or else an empty text.
 */
async function signInByLink(): Promise<string> {
  const link = new URLSearchParams(location.hash.slice(1));
  const code = link.get("login");
  if (code === null) return "";
  const screen = link.get("screen") ?? "";
  const hash = screen.startsWith("#/") ? screen : "";
  history.replaceState(null, "", location.pathname + location.search + hash);
  try {
    await signIn(code);
    return "";
  } catch (thrown) {
    return toIpcError(thrown).message;
  }
}

async function signIn(code: string): Promise<void> {
  const response = await post("/api/login", { code });
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw toFailure(response, body);
  localStorage.setItem(STORAGE_KEY, JSON.stringify(body));
}

async function call<V extends Verb>(
  verb: V,
  params: Verbs[V]["params"],
): Promise<Verbs[V]["answer"]> {
  const sentToken = readSignIn()?.token;
  if (sentToken === undefined) throw new IpcError("signed_out", t.signedOut);
  const response = await post(`/api/verbs/${verb}`, params);
  const body: unknown = await response.json().catch(() => null);
  if (response.ok) return body as Verbs[V]["answer"];
  if (response.status === 401) {
    dropToken(sentToken);
    throw new IpcError("signed_out", t.signedOut);
  }
  throw toFailure(response, body);
}

/** Signs this browser out if its token is the refused one, and not one of a later sign-in. */
function dropToken(refused: string): void {
  if (readSignIn()?.token === refused) localStorage.removeItem(STORAGE_KEY);
}

function toFailure(response: Response, body: unknown): IpcError {
  if (typeof body === "object" && body !== null && "error" in body) return toIpcError(body.error);
  return new IpcError("internal", t.noReason(response.status));
}

function authorizationHeader(): Record<string, string> {
  const token = readSignIn()?.token;
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

async function post(path: string, body: unknown): Promise<Response> {
  try {
    return await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...authorizationHeader() },
      credentials: "omit",
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
  const closed = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;

  /** Reports the events of one stream until the stream ends. */
  async function read(token: string): Promise<void> {
    const response = await fetch("/api/events", {
      headers: { accept: "text/event-stream", ...authorizationHeader() },
      credentials: "omit",
      cache: "no-store",
      signal: closed.signal,
    });
    if (response.status === 401) dropToken(token);
    if (!response.ok || response.body === null) return;
    onConnection?.(true);
    const parser = createParser({ onEvent: ({ data }) => onEvent(JSON.parse(data) as Event) });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || closed.signal.aborted) return;
      parser.feed(value);
    }
  }

  async function open(): Promise<void> {
    const token = readSignIn()?.token;
    if (token !== undefined) await read(token).catch(() => undefined);
    if (closed.signal.aborted) return;
    onConnection?.(false);
    if (readSignIn() !== null) timer = setTimeout(() => void open(), RETRY_MS);
  }

  // Without a token, nothing is sent until the person has signed in on another page. After a
  // sign-in on this page, the page reloads itself.
  function openAfterSignIn(event: StorageEvent): void {
    if (event.key !== STORAGE_KEY || event.oldValue !== null || event.newValue === null) return;
    clearTimeout(timer);
    void open();
  }

  addEventListener("storage", openAfterSignIn, { signal: closed.signal });
  void open();
  return () => {
    closed.abort();
    clearTimeout(timer);
  };
}
