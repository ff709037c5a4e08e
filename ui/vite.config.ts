import { svelte } from "@sveltejs/vite-plugin-svelte";
import { svelteTesting } from "@testing-library/svelte/vite";
import { defineConfig } from "vitest/config";

export default defineConfig({
  // Relative, so that the build works at the app's own URLs and at those of `drawbridge serve`.
  base: "./",
  plugins: [svelte(), svelteTesting()],
  clearScreen: false,
  server: { port: 1420, strictPort: true },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One file, so that the order of the rules is the same in both windows.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        // The code that many screens share is one file, because each file costs a request.
        codeSplitting: { groups: [{ name: "shared", test: /lucide|src.(kit|lib|state|texts)./ }] },
      },
    },
  },
  test: {
    environment: "jsdom",
    setupFiles: ["src/test/setup.ts"],
    include: ["src/**/*.test.ts", "eslint/**/*.test.js"],
    testTimeout: 20_000,
  },
});
