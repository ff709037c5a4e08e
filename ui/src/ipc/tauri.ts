/** The backend for the tray app's web view. Only this file imports Tauri. */

import { invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";
import { toIpcError, type Event, type Ipc, type Verb, type Verbs } from ".";

const EVENT = "hub";

export function tauriIpc(): Ipc {
  return {
    opensBrowser: true,

    async call<V extends Verb>(verb: V, params: Verbs[V]["params"]): Promise<Verbs[V]["answer"]> {
      try {
        return await invoke<Verbs[V]["answer"]>(verb.replace(".", "_"), { request: params });
      } catch (thrown) {
        throw toIpcError(thrown);
      }
    },

    subscribe(onEvent, onConnection) {
      let stopped = false;
      const listening = listen<Event>(EVENT, ({ payload }) => {
        if (!stopped) onEvent(payload);
      });
      listening.then(
        () => {
          if (!stopped) onConnection?.(true);
        },
        () => onConnection?.(false),
      );
      return () => {
        stopped = true;
        void listening.then(
          (unlisten) => unlisten(),
          () => undefined,
        );
      };
    },
  };
}
