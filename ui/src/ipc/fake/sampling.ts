/** The sampling provider of the fake hub. Its answers are made up. */

import type { Event, SamplingView, Verbs } from "../bindings";
import { IpcError } from "..";

type SamplingVerb = Extract<keyof Verbs, `sampling.${string}`>;
type SamplingHandlers = {
  [V in SamplingVerb]: (params: Verbs[V]["params"]) => Verbs[V]["answer"];
};

/** The part of the fake hub that sampling uses. */
interface SamplingHub {
  sampling: SamplingView;
  emit(event: Event): void;
}

export function samplingView(): SamplingView {
  return {
    enabled: true,
    url: "https://models.example.com/v1",
    models: ["gpt-5-mini", "gpt-5"],
    images: false,
    tools: true,
    timeout_s: 60,
    has_key: true,
    is_on: true,
    requests_per_day: 100,
    tokens_per_day: 200_000,
    requests_today: 12,
    tokens_today: 48_210,
    resets_at: new Date().setUTCHours(24, 0, 0, 0),
  };
}

export function sampling(hub: SamplingHub): SamplingHandlers {
  return {
    "sampling.show": () => hub.sampling,
    "sampling.change": ({ key, models, ...change }) => {
      if (change.url && !URL.canParse(change.url))
        throw new IpcError(
          "invalid",
          "'url' must be an https URL, or an http URL of this computer.",
        );
      const given = Object.fromEntries(
        Object.entries(change).filter(([, value]) => value !== null),
      ) as Partial<SamplingView>;
      const view = { ...hub.sampling, ...given };
      if (models !== null) view.models = models.filter((model) => model !== "");
      if (change.url && hostOf(change.url) !== hostOf(hub.sampling.url)) view.has_key = false;
      if (key !== null) view.has_key = key !== "";
      view.is_on = view.enabled && view.url !== "" && view.models.length > 0;
      hub.sampling = view;
      hub.emit({ kind: "settings_changed" });
      return view;
    },
    "sampling.check": () => {
      const { requests_today, tokens_today, models } = hub.sampling;
      hub.sampling = {
        ...hub.sampling,
        requests_today: requests_today + 1,
        tokens_today: tokens_today + 21,
      };
      return { model: models[0] ?? "", text: "OK", tokens: 21 };
    },
  };
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "");
