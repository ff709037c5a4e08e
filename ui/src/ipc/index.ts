/**
 * The interface between the screens and the hub, with three backends: the desktop app's web
 * view, a browser over HTTP, and a fake in memory for development and tests.
 */

import type { ApiError, ErrorCode, Event, Verbs } from "./bindings";

export type * from "./bindings";

export type Verb = keyof Verbs;

/** How to reopen the app without a tray. */
export interface ReopenHint {
  /** The global shortcut, if it works. */
  shortcut: string | null;
}

/** Why this copy of the app does not update itself. */
export type UpdatesDisabled = "package_manager" | "not_configured" | "not_app_image";

/** The state of the updates of the app. */
export interface UpdatesView {
  /** The running version. */
  version: string;
  disabled: UpdatesDisabled | null;
  /** Whether the app checks for updates by itself. */
  automatic: boolean;
  /** The newer release that was found. */
  available: { version: string; notes: string } | null;
  /** The version that was installed and runs after a restart. */
  installed: string | null;
}

/** Updates of the app. Each action returns the new state. */
export interface Updates {
  show(): Promise<UpdatesView>;
  /** Checks for a newer release. Downloads nothing. */
  check(): Promise<UpdatesView>;
  setAutomatic(on: boolean): Promise<UpdatesView>;
  /** Downloads and installs the release that was found. */
  install(): Promise<UpdatesView>;
  restart(): Promise<void>;
}

/** The desktop app, as the main window and the popup use it. */
export interface DesktopShell {
  readonly updates: Updates;
  /**
   * Calls `ask` when the person closes the window on a desktop without a tray. `endsHub` says
   * whether the hub ends with the app. Returns a function that unsubscribes.
   */
  onCloseRequested(ask: (endsHub: boolean) => void): () => void;
  /** Closes the window. The app keeps running. */
  close(): Promise<void>;
  quit(): Promise<void>;
  /**
   * Tells the app whether the main window shows the Approvals screen. While the screen is shown and
   * the window has the focus, the popup stays hidden.
   */
  showsApprovals(shown: boolean): Promise<void>;
  /** Fits the popup, within bounds, to the height of its content in CSS pixels. */
  fitPopup(height: number): Promise<void>;
  /** Returns how to reopen the app, or `null` if there is a tray or a person has read the hint. */
  reopenHint(): Promise<ReopenHint | null>;
  /** Records that the person has read how to reopen the app. */
  confirmReopenHint(): Promise<void>;
  showOptions(): Promise<AppOptions>;
  /** Changes the options that are present, and returns all of them. */
  changeOptions(change: Partial<ChangedOptions>): Promise<AppOptions>;
}

/** The options of the desktop app on this computer. */
export interface AppOptions {
  /** Whether the app starts at login, or `null` if this system cannot start it. */
  autostart: boolean | null;
  /** The keys of the global shortcut, such as `Ctrl+Alt+D`; empty for none. */
  shortcut: string;
  shortcut_status:
    | { kind: "registered" }
    /** The desktop has bound these keys, which may differ from the chosen keys. */
    | { kind: "bound"; keys: string }
    /** The app waits for the desktop's answer. */
    | { kind: "asked" }
    | { kind: "off" }
    | { kind: "failed"; reason: string };
  notifications: NotificationOptions;
}

/** The events about which the desktop app shows notifications. */
export interface NotificationOptions {
  /** Requests that wait for a decision, and clients that ask to be paired. */
  approvals: boolean;
  /** Requests that nobody decided in time, and muted clients. */
  missed: boolean;
  /** Servers that failed and are not started again soon. */
  failed_servers: boolean;
  /** New or changed definitions that wait for acceptance. */
  changed_definitions: boolean;
}

/** The options that a person can change. */
export interface ChangedOptions {
  autostart: boolean;
  shortcut: string;
  notifications: NotificationOptions;
}

/** The sign-in of this browser. */
export interface BrowserSignIn {
  /** The id of this browser in `browsers.list`, or `null` if it is not signed in. */
  readonly id: string | null;
  /** Why the sign-in with the link that opened the page failed; empty if no link failed. */
  readonly linkError: string;
  /** Signs in with a code from a link or a terminal. Throws if the code is not valid. */
  signIn(code: string): Promise<void>;
}

export interface Ipc {
  /** The sign-in of this browser, or `null` in the desktop app. */
  readonly browser: BrowserSignIn | null;
  /** The desktop app, or `null` in a browser. */
  readonly desktop: DesktopShell | null;
  /** Whether the backend opens URLs in the system's browser. If not, the screen shows a link. */
  readonly opensBrowser: boolean;
  /** Runs a verb. Throws an `IpcError` if the verb fails or the hub cannot be reached. */
  call<V extends Verb>(verb: V, params: Verbs[V]["params"]): Promise<Verbs[V]["answer"]>;
  /**
   * Reports events, and changes of the connection. After `true` the caller has to read everything
   * again. Returns a function that unsubscribes.
   */
  subscribe(
    onEvent: (event: Event) => void,
    onConnection?: (connected: boolean) => void,
  ): () => void;
}

/** An `ApiError` as an exception. The browser's backend adds `signed_out`. */
export class IpcError extends Error implements Omit<ApiError, "code"> {
  constructor(
    readonly code: ErrorCode | "signed_out",
    message: string,
  ) {
    super(message);
  }
}

/** Converts anything thrown to an `IpcError`. */
export function toIpcError(thrown: unknown): IpcError {
  if (thrown instanceof IpcError) return thrown;
  if (typeof thrown === "object" && thrown !== null && "code" in thrown && "message" in thrown) {
    return new IpcError(thrown.code as ErrorCode, String(thrown.message));
  }
  return new IpcError("internal", thrown instanceof Error ? thrown.message : String(thrown));
}

/** Returns the backend for the environment of this page, which is the popup or the main window. */
export async function connect(isPopup: boolean): Promise<Ipc> {
  if (import.meta.env.DEV) {
    const scenario = new URLSearchParams(location.search).get("fake");
    if (scenario !== null) return (await import("./fake")).fakeIpc(scenario);
  }
  if ("__TAURI_INTERNALS__" in window) return (await import("./tauri")).tauriIpc(isPopup);
  return (await import("./http")).httpIpc();
}
