/**
 * The one way from the screens to the hub. Three backends: the tray app's web view, a browser
 * over HTTP, and a fake in memory for development and tests.
 */

import type { ApiError, ErrorCode, Event, Verbs } from "./bindings";

export type * from "./bindings";

export type Verb = keyof Verbs;

export interface Ipc {
  /** Pages where a person signs in are opened by the backend; else the screen offers a link. */
  readonly opensBrowser: boolean;
  call<V extends Verb>(verb: V, params: Verbs[V]["params"]): Promise<Verbs[V]["answer"]>;
  /** `onConnection` tells of every change; after `true` the reader reads everything anew. Returns how to stop. */
  subscribe(
    onEvent: (event: Event) => void,
    onConnection?: (connected: boolean) => void,
  ): () => void;
}

/** An `ApiError` as it is thrown; `signed_out` is added by the browser's backend. */
export class IpcError extends Error implements Omit<ApiError, "code"> {
  constructor(
    readonly code: ErrorCode | "signed_out",
    message: string,
  ) {
    super(message);
  }
}

/** Whatever was thrown, as an `IpcError`. */
export function toIpcError(thrown: unknown): IpcError {
  if (thrown instanceof IpcError) return thrown;
  if (typeof thrown === "object" && thrown !== null && "code" in thrown && "message" in thrown) {
    return new IpcError(thrown.code as ErrorCode, String(thrown.message));
  }
  return new IpcError("internal", thrown instanceof Error ? thrown.message : String(thrown));
}

/** The backend for where this page runs. */
export async function connect(): Promise<Ipc> {
  if (import.meta.env.DEV) {
    const scenario = new URLSearchParams(location.search).get("fake");
    if (scenario !== null) return (await import("./fake")).fakeIpc(scenario);
  }
  if ("__TAURI_INTERNALS__" in window) return (await import("./tauri")).tauriIpc();
  return (await import("./http")).httpIpc();
}
