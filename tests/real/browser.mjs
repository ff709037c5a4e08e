// A browser on the web UI. Takes steps, and tells what went wrong on the way: errors on the console, violations of the
// content security policy, barriers that axe or the keyboard finds, and text that does not fit. Prints one JSON line.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { focused, intruders, misfits } from "./looks.mjs";

const job = JSON.parse(process.argv[2]);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const told = { errors: [], violations: [], barriers: [], misfits: [], intruders: [], pictures: [], texts: [], counts: [], orders: [] };

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
const screenReader = await context.newCDPSession(page);
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

// What the keyboard has come to, as a screen reader tells it; noted where it is not to be seen, or has no name.
async function lookAtFocus(where) {
  const seen = await page.evaluate(focused);
  if (seen.part === "") return seen;
  const { result } = await screenReader.send("Runtime.evaluate", { expression: "document.activeElement" });
  const { nodes } = await screenReader.send("Accessibility.getPartialAXTree", { objectId: result.objectId, fetchRelatives: false });
  const [role, name] = [nodes[0]?.role?.value ?? "", nodes[0]?.name?.value ?? ""];
  const fault = !name.trim() ? "has no name" : !seen.isRinged ? "does not show that it has the keyboard" : !seen.isInSight ? "is out of sight" : "";
  if (fault) told.barriers.push(`${where}: ${seen.place} ${fault}`);
  return { ...seen, role };
}

const MOST_STEPS = 80;

// By Tab alone, or by Shift+Tab with `back`.
async function tabTo(step) {
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    await page.keyboard.press(step.back ? "Shift+Tab" : "Tab");
    const seen = await lookAtFocus(`on the way to ${step.part}`);
    if (seen.part === step.part) return;
  }
  throw new Error(`the keyboard does not reach ${step.part}`);
}

// Everything that Tab comes to, in its order, until it leaves the page.
async function order(step) {
  const parts = [];
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    await page.keyboard.press("Tab");
    const seen = await lookAtFocus(step.where);
    if (seen.part === "") break;
    parts.push(`${seen.role} ${seen.part}`);
  }
  told.orders.push(parts);
}

const deeds = {
  login: () => page.goto(job.link),
  click: (step) => part(step.part).click(),
  focus: (step) => part(step.part).focus(),
  fill: (step) => part(step.part).fill(step.text),
  choose: (step) => part(step.part).selectOption(step.value),
  until: (step) => part(step.part).waitFor({ state: "visible" }),
  until_ready: (step) => page.locator(`${css(step.part)}:not(:disabled):not([aria-disabled=true])`).first().waitFor(),
  until_gone: (step) => part(step.part).waitFor({ state: "hidden" }),
  until_says: (step) => part(step.part).filter({ hasText: step.text }).waitFor({ state: "visible" }),
  until_value: (step) => page.waitForFunction(([css, text]) => document.querySelector(css)?.value.includes(text), [css(step.part), step.text]),
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
  fits: async (step) => told.misfits.push(...(await page.evaluate(misfits)).map((found) => `${step.where}: ${found}`)),
  text_only: async (step) => told.intruders.push(...(await page.evaluate(intruders)).map((found) => `${step.where}: ${found}`)),
  // All that there are, such as what is folded away, or the first of them.
  click_all: (step) => page.locator(css(step.part)).evaluateAll((parts, most) => parts.slice(0, most).forEach((one) => one.click()), step.most),
  tab_to: (step) => tabTo(step),
  order: (step) => order(step),
  type: (step) => page.keyboard.type(step.text),
  until_focused: (step) => page.locator(`${css(step.part)}:focus`).first().waitFor(),
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
