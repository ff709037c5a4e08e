/** The guide for the first run: which steps are done or skipped, and whether it is visible. */

import { SvelteSet } from "svelte/reactivity";
import { readStored, writeStored } from "../lib/stored";
import type { Calls } from "./calls.svelte";
import type { ClientFiles } from "./clientFiles.svelte";
import type { Clients } from "./clients.svelte";
import type { Servers } from "./servers.svelte";

export const STEPS = ["servers", "clients", "call"] as const;
export type Step = (typeof STEPS)[number];

/** The state that is saved in this browser. */
interface Saved {
  closed: boolean;
  skipped: Step[];
}

const KEY = "drawbridge-guide";

function readSaved(): Saved {
  try {
    const saved = JSON.parse(readStored(KEY) || "{}") as Partial<Saved>;
    return { closed: saved.closed === true, skipped: saved.skipped ?? [] };
  } catch {
    return { closed: false, skipped: [] };
  }
}

export class Guide {
  private closed = $state(false);
  private readonly skippedSteps: SvelteSet<Step>;
  /** Whether the window has needed the guide. If so, the guide stays until the person closes it. */
  private wasNeeded = $state(false);

  readonly done = $derived.by<Record<Step, boolean>>(() => ({
    servers: this.servers.added.length > 0,
    clients:
      this.clients.current.length > 0 ||
      this.clientFiles.kinds.some((kind) => kind.files.some((file) => file.entry !== null)),
    call: this.askedCalls.list.some((call) => call.decision === "allowed"),
  }));
  readonly next = $derived(
    STEPS.find((step) => !this.done[step] && !this.skippedSteps.has(step)) ?? null,
  );
  private readonly loaded = $derived.by(
    () => this.servers.loaded && this.clients.loaded && this.askedCalls.loaded,
  );
  readonly visible = $derived(this.loaded && !this.closed && (!this.done.call || this.wasNeeded));

  constructor(
    private readonly servers: Servers,
    private readonly clients: Clients,
    private readonly clientFiles: ClientFiles,
    private readonly askedCalls: Calls,
  ) {
    const saved = readSaved();
    this.closed = saved.closed;
    this.skippedSteps = new SvelteSet(saved.skipped);
  }

  isSkipped(step: Step): boolean {
    return this.skippedSteps.has(step);
  }

  skip(step: Step): void {
    this.skippedSteps.add(step);
    this.save();
  }

  /** Keeps the guide open after its last step, so that the person sees that it is done. */
  keepOpen(): void {
    this.wasNeeded = true;
  }

  close(): void {
    this.closed = true;
    this.save();
  }

  /** Shows the guide again, with all steps. */
  reopen(): void {
    this.closed = false;
    this.wasNeeded = true;
    this.skippedSteps.clear();
    this.save();
  }

  private save(): void {
    const saved: Saved = { closed: this.closed, skipped: [...this.skippedSteps] };
    writeStored(KEY, JSON.stringify(saved));
  }
}
