import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import globals from "globals";
import ts from "typescript-eslint";
import noLiteralText from "./eslint/no-literal-text.js";
import svelteConfig from "./svelte.config.js";

/**
 * The import order of ARCHITECTURE.md, bottom first:
 * texts ← kit, lib ← ipc ← state ← features ← views ← App.
 */
const rooms = {
  texts: ["kit", "lib", "ipc", "state", "features", "views"],
  lib: ["kit", "ipc", "state", "features", "views"],
  kit: ["ipc", "state", "features", "views"],
  ipc: ["kit", "state", "features", "views"],
  state: ["kit", "features", "views"],
  features: ["views"],
};

const nouns = [
  "servers",
  "clients",
  "approvals",
  "calls",
  "logs",
  "settings",
  "policy",
  "profiles",
  "drawbridge",
];

function forbid(files, folders, message, extra = []) {
  return {
    files,
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            { group: folders.flatMap((f) => [`**/${f}/*`, `**/${f}/**`]), message },
            { group: ["@tauri-apps/*"], message: "Only ipc/tauri.ts names Tauri." },
            ...extra,
          ],
        },
      ],
    },
  };
}

export default ts.config(
  { ignores: ["dist", "node_modules", "src/ipc/bindings.ts"] },
  js.configs.recommended,
  ...ts.configs.strict,
  ...ts.configs.stylistic,
  ...svelte.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser } },
    rules: {
      eqeqeq: "error",
      "no-console": "error",
      "@typescript-eslint/consistent-type-definitions": "off",
      "@typescript-eslint/consistent-type-imports": "error",
      "svelte/no-at-html-tags": "error",
    },
  },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: {
      parserOptions: { parser: ts.parser, extraFileExtensions: [".svelte"], svelteConfig },
    },
    rules: {
      "svelte/no-navigation-without-resolve": "off",
      "svelte/prefer-svelte-reactivity": "off",
    },
  },
  {
    files: ["src/**/*.svelte"],
    plugins: { drawbridge: { rules: { "no-literal-text": noLiteralText } } },
    rules: { "drawbridge/no-literal-text": "error" },
  },
  { files: ["*.config.*"], languageOptions: { globals: { ...globals.node } } },
  ...Object.entries(rooms).map(([room, above]) =>
    forbid(
      [`src/${room}/**`],
      above,
      "Imports go downwards: texts ← kit, lib ← ipc ← state ← features ← views ← App.",
    ),
  ),
  ...nouns.map((noun) =>
    forbid([`src/features/${noun}/**`], ["views"], "Imports go downwards.", [
      {
        group: nouns.filter((n) => n !== noun).map((n) => `../${n}/*`),
        message: "No feature imports another.",
      },
    ]),
  ),
  {
    files: ["src/ipc/tauri.ts", "src/**/*.test.ts", "src/test/**"],
    rules: { "no-restricted-imports": "off" },
  },
);
