/** One choice of a manifest or a bundle as a form: its inputs, the entered values, its errors. */

import type {
  AddBundle,
  BundleSource,
  BundleView,
  FillManifest,
  ManifestChoice,
  ManifestInput,
  ManifestSource,
  ManifestView,
  PresetView,
  PublishedServerDetails,
} from "../../ipc";
import { texts } from "../../texts";

export interface ChoiceForm {
  /** The index of the choice in the manifest. */
  index: number;
  choice: ManifestChoice;
  /** The name of the new server. */
  name: string;
  /** The entered values, by the names of their inputs. A repeated input has one value per line. */
  values: Record<string, string>;
  /** Inputs that a person marked as secret although the manifest does not. */
  markedSecret: Record<string, boolean>;
}

export interface ManifestForm extends ChoiceForm {
  source: ManifestSource;
}

/** The form of an MCP bundle. */
export interface BundleForm extends ChoiceForm {
  source: BundleSource;
  bundle: BundleView;
}

/** A manifest as a person entered it, and as the hub read it. Survives a change of the tab. */
export interface EnteredManifest {
  text: string;
  read: { view: ManifestView; source: ManifestSource } | null;
}

/** The form of a preset. */
export interface PresetForm extends ManifestForm {
  preset: PresetView;
}

/** The form of a server of the official registry. */
export interface PublishedForm extends ManifestForm {
  published: PublishedServerDetails;
}

/** Returns the form of a choice, by default of the first usable choice; null without choices. */
export function createPublishedForm(
  published: PublishedServerDetails,
  index?: number,
): PublishedForm | null {
  const { choices, name, title } = published.manifest;
  const usable = choices.findIndex((choice) => choice.problem === "");
  const chosen = index ?? Math.max(0, usable);
  const choice = choices[chosen];
  if (!choice) return null;
  return { ...createManifestForm({ published: name }, title, chosen, choice), published };
}

export function createPresetForm(preset: PresetView): PresetForm {
  return { ...createManifestForm({ preset: preset.id }, preset.title, 0, preset.choice), preset };
}

export function createBundleForm(source: BundleSource, bundle: BundleView): BundleForm {
  return { ...createChoiceForm(bundle.title, 0, bundle.choice), source, bundle };
}

export function createManifestForm(
  source: ManifestSource,
  name: string,
  index: number,
  choice: ManifestChoice,
): ManifestForm {
  return { ...createChoiceForm(name, index, choice), source };
}

function createChoiceForm(name: string, index: number, choice: ManifestChoice): ChoiceForm {
  return {
    index,
    choice,
    name,
    values: Object.fromEntries(choice.inputs.map((input) => [input.name, input.default ?? ""])),
    markedSecret: {},
  };
}

/** Returns a path on the hub's machine if the text is a path, or else the text as the manifest. */
export function parseSource(text: string): ManifestSource {
  const trimmed = text.trim();
  const isPath = !trimmed.includes("\n") && /^(\/|~[/\\]|[A-Za-z]:[/\\]|\\\\)/.test(trimmed);
  return isPath ? { path: trimmed } : { text };
}

/**
 * Returns whether a person may mark an input as secret. Arguments and parts of the URL cannot be
 * secret, because other programs can see them.
 */
export function canBeSecret(input: ManifestInput): boolean {
  return (
    !input.secret &&
    (input.kind === "env" || input.kind === "header") &&
    input.format === "text" &&
    input.choices.length === 0
  );
}

/**
 * Returns the value of an unchecked box: empty, or `false` if the input needs a value or has a
 * default.
 */
export function uncheckedValue(input: ManifestInput): string {
  return input.required || input.default !== null ? "false" : "";
}

/** Returns one sentence for each invalid input, by its name. */
export function validateInputs(form: ChoiceForm): Record<string, string> {
  const errors = form.choice.inputs.map(
    (input) => [input.name, validateInput(input, form.values[input.name] ?? "")] as const,
  );
  return Object.fromEntries(errors.filter(([, error]) => error !== ""));
}

function validateInput(input: ManifestInput, value: string): string {
  const t = texts.servers.form.manifest;
  const values = (input.repeated ? value.split("\n") : [value])
    .map((line) => line.trim())
    .filter(Boolean);
  if (values.length === 0)
    return input.required && input.format !== "boolean" ? t.valueMissing : "";
  if (input.format === "number" && values.some((text) => Number.isNaN(Number(text))))
    return t.notNumber;
  if (
    values.some(
      (text) =>
        (input.min !== null && Number(text) < input.min) ||
        (input.max !== null && Number(text) > input.max),
    )
  )
    return t.outOfRange(describeRange(input));
  const unknown = input.choices.length
    ? values.find((text) => !input.choices.includes(text))
    : undefined;
  return unknown === undefined ? "" : t.notAllowed(unknown, input.choices.join(", "));
}

/** Returns the range of allowed numbers in words; empty if there is no limit. */
export function describeRange({ min, max }: ManifestInput): string {
  return texts.servers.form.manifest.range(min, max);
}

/** Returns the request of `servers.fill_manifest`. */
export function toFillRequest(form: ManifestForm): FillManifest {
  return { source: form.source, choice: form.index, ...toValues(form) };
}

/** Returns the request of `bundles.add`. */
export function toAddBundle(form: BundleForm): AddBundle {
  return { source: form.source, ...toValues(form) };
}

/**
 * Returns the name and the values. Inputs that the manifest marks as secret stay among the values,
 * because the hub knows from the manifest that they are secret.
 */
function toValues(form: ChoiceForm): Pick<FillManifest, "name" | "values" | "secrets"> {
  const { choice, name, values, markedSecret } = form;
  const inputs = choice.inputs.map((input) => {
    const value = values[input.name] ?? "";
    return {
      name: input.name,
      value: input.format === "boolean" && value === "" ? uncheckedValue(input) : value,
      secret: markedSecret[input.name] === true && canBeSecret(input),
    };
  });
  const selectValues = (secret: boolean) =>
    Object.fromEntries(
      inputs.filter((input) => input.secret === secret).map((input) => [input.name, input.value]),
    );
  return {
    name: name.trim() || null,
    values: selectValues(false),
    secrets: selectValues(true),
  };
}
