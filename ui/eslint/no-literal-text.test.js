import { Linter } from "eslint";
import svelte from "eslint-plugin-svelte";
import { expect, it } from "vitest";
import noLiteralText from "./no-literal-text.js";

function countReports(template) {
  const messages = new Linter().verify(
    template,
    [
      ...svelte.configs.base,
      {
        files: ["**/*.svelte"],
        plugins: { drawbridge: { rules: { "no-literal-text": noLiteralText } } },
        rules: { "drawbridge/no-literal-text": "error" },
      },
    ],
    "Some.svelte",
  );
  expect(messages.filter((message) => message.fatal)).toEqual([]);
  return messages.length;
}

it.each([
  "<p>Add server</p>",
  "{#if x}Add{:else}{y}{/if}",
  '<input placeholder="Name" />',
  '<button aria-label="Close {name}">×</button>',
  '<button aria-label={open ? "Close" : t.open}>×</button>',
  '<Page title="Logs" />',
  '<p>{count === 1 ? "1 call" : t.calls(count)}</p>',
  "<p>{`${count} calls`}</p>",
  '<p>{name || "none"}</p>',
  '{#snippet footer()}{"Done"}{/snippet}',
])("reports the text in %s", (template) => {
  expect(countReports(template)).toBe(1);
});

it.each([
  "<p>{t.addServer}</p>",
  "<p>{at + 1} – 5 %</p>",
  '<p class="lead" data-testid="part">{t.lead}</p>',
  '<p>{shown === "http" ? t.http : t.stdio}</p>',
  '<Badge tone={isBad ? "bad" : "good"}>{label}</Badge>',
  "<code>drawbridge open</code>",
  "<style>p { color: red; }</style>",
  '<script>const name = "text";</script>',
  "<input placeholder={t.name} />",
])("accepts %s", (template) => {
  expect(countReports(template)).toBe(0);
});
