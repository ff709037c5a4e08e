// A browser on the web UI. Takes steps, and tells what went wrong on the way: errors on the console, violations of the
// content security policy, and barriers that axe finds. Prints one JSON line.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const job = JSON.parse(process.argv[2]);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const told = { errors: [], violations: [], barriers: [], pictures: [], texts: [], counts: [] };

const context = await chromium.launchPersistentContext(job.profile, {
  executablePath: job.chromium,
  headless: true,
  viewport: { width: 1280, height: 800 },
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
context.setDefaultTimeout(20_000);
await context.exposeFunction("tellViolation", (text) => told.violations.push(text));
await context.addInitScript(() => {
  document.addEventListener("securitypolicyviolation", (e) => {
    window.tellViolation(`${e.violatedDirective} refused ${e.blockedURI} at ${e.sourceFile}:${e.lineNumber}`);
  });
});
const page = context.pages()[0] ?? (await context.newPage());
page.on("console", (message) => {
  if (message.type() === "error") told.errors.push(`${message.text()} (${message.location().url})`);
});
page.on("pageerror", (error) => told.errors.push(String(error)));
page.on("request", (request) => {
  const url = new URL(request.url());
  if (!["data:", "blob:"].includes(url.protocol) && url.host !== new URL(job.link).host) {
    told.violations.push(`asked a stranger: ${request.url()}`);
  }
});

// "server-row[data-server=files] server-sync" names parts by their data-testid, one inside the other.
const css = (part) =>
  part.split(" ").map((step) => step.replace(/^([\w-]+)/, '[data-testid="$1"]').replace(/=([^\]"]+)\]/g, '="$1"]')).join(" ");
const part = (name) => page.locator(css(name)).first();

async function picture(name) {
  const path = `${job.pictures}/${name}.png`;
  await page.screenshot({ path, animations: "disabled" });
  told.pictures.push(path);
}

async function barriers(where) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  for (const rule of found.violations.filter((v) => ["serious", "critical"].includes(v.impact))) {
    told.barriers.push(`${where}: ${rule.id}: ${rule.help}: ${rule.nodes.map((n) => n.target.join(" ")).join(", ")}`);
  }
}

const deeds = {
  login: () => page.goto(job.link),
  click: (step) => part(step.part).click(),
  fill: (step) => part(step.part).fill(step.text),
  choose: (step) => part(step.part).selectOption(step.value),
  until: (step) => part(step.part).waitFor({ state: "visible" }),
  until_ready: (step) => page.locator(`${css(step.part)}:not(:disabled):not([aria-disabled=true])`).first().waitFor(),
  until_gone: (step) => part(step.part).waitFor({ state: "hidden" }),
  until_says: (step) => part(step.part).filter({ hasText: step.text }).waitFor({ state: "visible" }),
  text: async (step) => told.texts.push(await part(step.part).innerText()),
  // Loaded anew, as a window of its own would.
  route: async (step) => {
    await page.goto("about:blank");
    await page.goto(new URL(`/${step.hash}`, job.link).href);
  },
  size: (step) => page.setViewportSize({ width: step.width, height: step.height }),
  theme: (step) => page.emulateMedia({ colorScheme: step.theme, reducedMotion: "reduce" }),
  press: (step) => page.keyboard.press(step.key),
  picture: (step) => picture(step.name),
  pause: (step) => page.waitForTimeout(step.ms),
  count: async (step) => told.counts.push(await page.locator(css(step.part)).count()),
  settle: () => page.evaluate(async () => {
    await document.fonts.ready;
    let [before, now] = ["", document.body.innerText];
    for (let looks = 0; looks < 10 && before !== now; looks += 1) {
      await new Promise((next) => { setTimeout(next, 100); });
      [before, now] = [now, document.body.innerText];
    }
  }),
  axe: (step) => barriers(step.where),
};

let failure;
for (const step of job.steps) {
  try {
    await deeds[step.do](step);
  } catch (error) {
    const said = await page.evaluate(() => document.body?.innerText).catch(() => "");
    failure = `${JSON.stringify(step)}: ${error}\nThe page says: ${said}\nErrors: ${told.errors.join("\n")}`;
    await picture("failed").catch(() => {});
    break;
  }
}
await context.close();
if (failure !== undefined) {
  console.error(failure);
  process.exit(1);
}
console.log(JSON.stringify(told));
