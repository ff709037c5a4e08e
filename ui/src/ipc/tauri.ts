/** The backend for the desktop app's web view. Only this file imports Tauri. */

import { invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";
import {
  toIpcError,
  type DesktopShell,
  type Event,
  type Ipc,
  type Verb,
  type Verbs,
  type UpdatesView,
  type ReopenHint,
} from ".";

/** The names of the Tauri events with the hub's events. The popup gets only the events it needs. */
const MAIN_EVENT = "hub-main";
const POPUP_EVENT = "hub-popup";
const CLOSE_EVENT = "close-requested";

export function tauriIpc(isPopup: boolean): Ipc {
  return {
    browser: null,
    desktop,
    opensBrowser: true,

    call<V extends Verb>(verb: V, params: Verbs[V]["params"]): Promise<Verbs[V]["answer"]> {
      return run<Verbs[V]["answer"]>(verb.replace(".", "_"), { request: params });
    },

    subscribe(onEvent, onConnection) {
      return follow<Event>(isPopup ? POPUP_EVENT : MAIN_EVENT, onEvent, onConnection);
    },
  };
}

const desktop: DesktopShell = {
  updates: {
    show: () => run<UpdatesView>("updates_show"),
    check: () => run<UpdatesView>("updates_check"),
    setAutomatic: (on) => run<UpdatesView>("updates_switch", { on }),
    install: () => run<UpdatesView>("updates_install"),
    restart: () => run("app_restart"),
  },
  onCloseRequested(ask) {
    return follow<boolean>(CLOSE_EVENT, (endsHub) => {
      ask(endsHub);
      // Without this answer, the app assumes that the page hangs, and closes the window.
      void run("close_asked").catch(() => undefined);
    });
  },
  close: () => run("window_close"),
  quit: () => run("app_quit"),
  showsApprovals: (shown) => run("approvals_shown", { shown }),
  fitPopup: (height) => run("popup_measured", { height }),
  reopenHint: () => run<ReopenHint | null>("reopen_hint"),
  confirmReopenHint: () => run("reopen_hint_read"),
  showOptions: () => run("options_show"),
  changeOptions: (change) => run("options_change", { request: change }),
};

/** Runs a command of the app. */
async function run<T = void>(command: string, params: Record<string, unknown> = {}): Promise<T> {
  try {
    return await invoke<T>(command, params);
  } catch (thrown) {
    throw toIpcError(thrown);
  }
}

/** Reports the payloads of a Tauri event, until the returned function is called. */
function follow<T>(
  name: string,
  onPayload: (payload: T) => void,
  onListening?: (listening: boolean) => void,
): () => void {
  let stopped = false;
  const listening = listen<T>(name, ({ payload }) => {
    if (!stopped) onPayload(payload);
  });
  listening.then(
    () => {
      if (!stopped) onListening?.(true);
    },
    () => onListening?.(false),
  );
  return () => {
    stopped = true;
    void listening.then(
      (unlisten) => unlisten(),
      () => undefined,
    );
  };
}
