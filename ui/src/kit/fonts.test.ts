import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";

const read = (file: string) => readFileSync(new URL(file, import.meta.url), "utf8");
const { resolve } = createRequire(import.meta.url);

describe("the font of the app", () => {
  const faces = read("./fonts.css");
  const files = [...faces.matchAll(/url\("([^"]+)"\)/g)].map(([, file]) => resolve(file ?? ""));

  it("is a part of the build: at most 150 kB in local files, and the first font in the list", () => {
    expect(files).toHaveLength(2);
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
    expect(bytes).toBeLessThanOrEqual(150_000);
    const [, family] = /font-family: ("[^"]+")/.exec(faces) ?? [];
    expect(read("./tokens.css")).toContain(`--font: ${family}, `);
    expect(read("../main.ts")).toContain("./kit/fonts.css");
  });

  it("may be distributed, and its licence is in the packages", () => {
    const { license } = JSON.parse(
      readFileSync(resolve("@fontsource-variable/inter/package.json"), "utf8"),
    ) as { license: string };
    expect(license).toBe("OFL-1.1");
    expect(read("../../../packaging/copyright")).toContain("License: OFL-1.1\n SIL OPEN FONT");
  });
});
