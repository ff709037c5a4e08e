/** A manifest's choice as a form: what it asks for, what was given, and what is still missing. */

import type {
  FillManifest,
  ManifestChoice,
  ManifestInput,
  ManifestSource,
  ManifestView,
  PresetView,
} from "../../ipc";

export interface Picked {
  source: ManifestSource;
  /** Which of the manifest's choices. */
  at: number;
  choice: ManifestChoice;
  /** What the server will be called. */
  name: string;
  values: Record<string, string>;
  /** What goes to the keyring although the manifest does not say so. */
  kept: Record<string, boolean>;
}

/** A manifest as it was given and read; kept while another tab is looked at. */
export interface Given {
  text: string;
  found: { view: ManifestView; source: ManifestSource } | null;
}

/** A well-known server that was chosen, and its form. */
export interface Preset extends Picked {
  preset: PresetView;
}

export function pickPreset(preset: PresetView): Preset {
  return { ...pick({ preset: preset.id }, preset.title, 0, preset.choice), preset };
}

export function pick(
  source: ManifestSource,
  title: string,
  at: number,
  choice: ManifestChoice,
): Picked {
  return {
    source,
    at,
    choice,
    name: title,
    values: Object.fromEntries(choice.inputs.map((input) => [input.name, input.default ?? ""])),
    kept: {},
  };
}

/** What a text that a person gave is: a path on the hub's machine, or the manifest itself. */
export function sourceOf(text: string): ManifestSource {
  const trimmed = text.trim();
  const isPath = !trimmed.includes("\n") && /^(\/|~[/\\]|[A-Za-z]:[/\\]|\\\\)/.test(trimmed);
  return isPath ? { path: trimmed } : { text };
}

/** Values that others can see cannot be kept: of the command line and of the URL. */
export function mayBeKept(input: ManifestInput): boolean {
  return (
    !input.secret &&
    (input.kind === "env" || input.kind === "header") &&
    input.format === "text" &&
    input.choices.length === 0
  );
}

/** What an unticked box stands for: nothing, or `false` where something has to be said. */
export function unticked(input: ManifestInput): string {
  return input.required || input.default !== null ? "false" : "";
}

/** What is wrong with the form, by the inputs' names; `name` apart. Empty where it can be filled. */
export function inputFaults(picked: Picked): Record<string, string> {
  const faults = picked.choice.inputs.map(
    (input) => [input.name, inputFault(input, picked.values[input.name] ?? "")] as const,
  );
  return Object.fromEntries(faults.filter(([, fault]) => fault !== ""));
}

function inputFault(input: ManifestInput, value: string): string {
  const values = (input.repeated ? value.split("\n") : [value])
    .map((one) => one.trim())
    .filter(Boolean);
  if (values.length === 0)
    return input.required && input.format !== "boolean" ? "It cannot do without this." : "";
  if (input.format === "number" && values.some((one) => Number.isNaN(Number(one))))
    return "Give a number.";
  const odd = input.choices.length ? values.find((one) => !input.choices.includes(one)) : undefined;
  return odd === undefined ? "" : `“${odd}” is none of ${input.choices.join(", ")}.`;
}

/** What `servers.fill_manifest` takes. Secrets of the manifest's own go with the values: the hub knows which they are. */
export function fillOf(picked: Picked): FillManifest {
  const { source, at, choice, name, values, kept } = picked;
  const given = choice.inputs.map((input) => {
    const value = values[input.name] ?? "";
    return {
      name: input.name,
      value: input.format === "boolean" && value === "" ? unticked(input) : value,
      apart: kept[input.name] === true && mayBeKept(input),
    };
  });
  const of = (apart: boolean) =>
    Object.fromEntries(
      given.filter((one) => one.apart === apart).map((one) => [one.name, one.value]),
    );
  return { source, choice: at, name: name.trim() || null, values: of(false), secrets: of(true) };
}
