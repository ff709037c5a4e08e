/** The schema of a tool's arguments. */

import { untrack } from "svelte";
import type { ToolView } from "../ipc";
import { messageOf } from "./errors";
import type { Servers } from "./servers.svelte";

/**
 * The JSON Schema of a tool's arguments. It is loaded again if the tool's definition changes, until
 * the component that created this object is destroyed.
 */
export class ToolSchema {
  /** The schema; `undefined` until it is loaded. */
  readonly value = $derived.by(() =>
    this.loaded?.tool === this.tool ? this.loaded.schema : undefined,
  );
  /** Why the schema could not be loaded; empty if it could. */
  error = $state("");
  private loaded = $state.raw<{ tool: string; schema: unknown } | null>(null);
  // These are strings, because a reload of the servers makes a new view of an unchanged tool.
  private readonly tool = $derived.by(() => this.find()?.exposed_name ?? "");
  private readonly digest = $derived.by(() => this.find()?.digest ?? "");

  /** `find` returns the tool, or `undefined` if its schema is not needed. */
  constructor(
    servers: Servers,
    private readonly find: () => ToolView | undefined,
  ) {
    $effect(() => {
      const { tool, digest } = this;
      this.error = "";
      const view = untrack(find);
      if (!digest || !view) return;
      let isCurrent = true;
      servers.loadSchema(view).then(
        (schema) => {
          if (isCurrent) this.loaded = { tool, schema };
        },
        (thrown: unknown) => {
          if (isCurrent) this.error = messageOf(thrown);
        },
      );
      return () => (isCurrent = false);
    });
  }
}
