import { readdirSync } from "node:fs";
import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import globals from "globals";
import ts from "typescript-eslint";
import noLiteralText from "./eslint/no-literal-text.js";
import svelteConfig from "./svelte.config.js";

/**
 * The folders that each folder must not import from. This is the order of ARCHITECTURE.md, lowest
 * first: texts ← kit, lib ← ipc ← state ← features ← views ← App. The texts may import
 * ipc/bindings.ts, which is generated and imports nothing.
 */
const forbiddenFolders = {
  texts: ["kit", "lib", "ipc", "state", "features", "views"],
  lib: ["kit", "ipc", "state", "features", "views"],
  kit: ["ipc", "state", "features", "views"],
  ipc: ["kit", "state", "features", "views"],
  state: ["kit", "features", "views"],
  features: ["views"],
};

/** The names of the features: the folders in `src/features`. */
const features = readdirSync(new URL("src/features", import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

function forbid(files, folders, message, extra = [], allowed = []) {
  return {
    files,
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              group: [...folders.flatMap((f) => [`**/${f}/*`, `**/${f}/**`]), ...allowed],
              message,
            },
            { group: ["@tauri-apps/*"], message: "Only ipc/tauri.ts may import Tauri." },
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
  ...Object.entries(forbiddenFolders).map(([folder, forbidden]) =>
    forbid(
      [`src/${folder}/**`],
      forbidden,
      "Modules import only from lower layers: texts ← kit, lib ← ipc ← state ← features ← views ← App.",
      [],
      folder === "texts" ? ["!**/ipc/bindings"] : [],
    ),
  ),
  ...features.map((feature) =>
    forbid([`src/features/${feature}/**`], ["views"], "A feature must not import a view.", [
      {
        group: features.filter((other) => other !== feature).map((other) => `**/${other}/*`),
        message: "A feature must not import another feature.",
      },
    ]),
  ),
  {
    files: ["src/ipc/tauri.ts", "src/**/*.test.ts", "src/test/**"],
    rules: { "no-restricted-imports": "off" },
  },
);
