// Opens the web UI in a browser and takes steps. Records errors on the console, violations of the
// content security policy, accessibility problems that axe or the Tab key finds, layout problems
// and foreign content. Prints the report as one line of JSON.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { describeFocus, findForeignContent, findLayoutProblems } from "./page_checks.mjs";

const job = JSON.parse(process.argv[2]);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const report = {
  errors: [],
  csp_violations: [],
  accessibility_problems: [],
  layout_problems: [],
  foreign_content: [],
  screenshots: [],
  counts: [],
  focus_orders: [],
  values: [],
};

const context = await chromium.launchPersistentContext(job.profile, {
  executablePath: job.chromium,
  headless: true,
  viewport: { width: 1280, height: 800 },
  permissions: ["clipboard-read", "clipboard-write"],
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
context.setDefaultTimeout(20_000);
await context.exposeFunction("reportViolation", (text) => report.csp_violations.push(text));
await context.addInitScript(() => {
  document.addEventListener("securitypolicyviolation", (e) => {
    window.reportViolation(`${e.violatedDirective} blocked ${e.blockedURI} at ${e.sourceFile}:${e.lineNumber}`);
  });
});
const page = context.pages()[0] ?? (await context.newPage());
const devTools = await context.newCDPSession(page);
page.on("console", (message) => {
  if (message.type() === "error") report.errors.push(`${message.text()} (${message.location().url})`);
});
page.on("pageerror", (error) => report.errors.push(String(error)));
page.on("request", (request) => {
  const url = new URL(request.url());
  if (!["data:", "blob:"].includes(url.protocol) && url.host !== new URL(job.link).host) {
    report.csp_violations.push(`request to a foreign host: ${request.url()}`);
  }
});

// Converts a path of test IDs, such as "server-row[data-server=files] server-sync", to a selector.
const selector = (part) =>
  part.split(" ").map((id) => id.replace(/^([\w-]+)/, '[data-testid="$1"]').replace(/=([^\]"]+)\]/g, '="$1"]')).join(" ");
const locate = (part) => page.locator(selector(part)).first();

async function takeScreenshot(name) {
  const path = `${job.screenshots}/${name}.png`;
  await page.screenshot({ path, animations: "disabled" });
  report.screenshots.push(path);
}

// Runs every rule of axe that is not deprecated, including the rules that axe runs only on request:
// target sizes, level AAA of WCAG and experimental rules. Reports violations of any impact. The
// screens have the contrast of level AAA only for a person who asks for more contrast.
async function checkAccessibility(where) {
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const asksForMoreContrast = matchMedia("(prefers-contrast: more)").matches;
    const isChecked = ({ ruleId, tags }) =>
      !tags.includes("deprecated") && (ruleId !== "color-contrast-enhanced" || asksForMoreContrast);
    const checked = window.axe.getRules().map((rule) => [rule.ruleId, { enabled: isChecked(rule) }]);
    return (await window.axe.run({ rules: Object.fromEntries(checked), resultTypes: ["violations"] })).violations;
  });
  for (const { id, impact, help, nodes } of violations) {
    const targets = nodes.map((node) => node.target.join(" ")).join(", ");
    report.accessibility_problems.push(`${where}: ${id} (${impact}): ${help}: ${targets}`);
  }
}

// Reports the focused element if it has no accessible name or no focus ring, or is out of view.
async function checkFocus(where) {
  const focus = await page.evaluate(describeFocus);
  if (focus.part === "") return focus;
  const { result } = await devTools.send("Runtime.evaluate", { expression: "document.activeElement" });
  const { nodes } = await devTools.send("Accessibility.getPartialAXTree", { objectId: result.objectId, fetchRelatives: false });
  const [role, name] = [nodes[0]?.role?.value ?? "", nodes[0]?.name?.value ?? ""];
  const problem = !name.trim() ? "has no accessible name"
    : !focus.hasFocusRing ? "shows no focus ring"
    : !focus.isInView ? "is out of view"
    : "";
  if (problem) report.accessibility_problems.push(`${where}: ${focus.place} ${problem}`);
  return { ...focus, role };
}

const MAX_TAB_PRESSES = 80;
// This time is longer than the half second in which a card that has just changed disables its
// buttons.
const TAB_TIMEOUT_MS = 10_000;

async function tabTo(step) {
  const end = performance.now() + TAB_TIMEOUT_MS;
  while (performance.now() < end) {
    await page.keyboard.press(step.back ? "Shift+Tab" : "Tab");
    const focus = await checkFocus(`on the way to ${step.part}`);
    if (focus.part === step.part) return;
  }
  throw new Error(`the Tab key does not reach ${step.part}`);
}

// Presses Tab until the focus leaves the page, but at most MAX_TAB_PRESSES times. Reports the parts
// in the order in which they had the focus.
async function recordFocusOrder(step) {
  const parts = [];
  for (let presses = 0; presses < MAX_TAB_PRESSES; presses += 1) {
    await page.keyboard.press("Tab");
    const focus = await checkFocus(step.where);
    if (focus.part === "") break;
    parts.push(`${focus.role} ${focus.part}`);
  }
  report.focus_orders.push(parts);
}

// Waits until transitions have ended, and then, for a second at most, until the text of the page
// stops changing.
async function waitUntilSettled() {
  await document.fonts.ready;
  // An animation without an end, such as the animation of a spinner, would never finish. A
  // cancelled transition has ended, too.
  const transitions = document.getAnimations().filter((animation) => Number.isFinite(animation.effect?.getComputedTiming().endTime));
  await Promise.allSettled(transitions.map(({ finished }) => finished));
  let [before, now] = ["", document.body.innerText];
  for (let checks = 0; checks < 10 && before !== now; checks += 1) {
    await new Promise((next) => { setTimeout(next, 100); });
    [before, now] = [now, document.body.innerText];
  }
}

// Waits until the browser has reported an error that `isExpected` accepts. Removes all such errors
// from the report, or only the first of them.
async function expectErrors(isExpected, { firstOnly }) {
  while (!report.errors.some(isExpected)) await page.waitForEvent("console");
  const first = report.errors.findIndex(isExpected);
  report.errors = report.errors.filter((error, at) => (firstOnly ? at !== first : !isExpected(error)));
}

async function runCheck(check, where) {
  return (await page.evaluate(check)).map((problem) => `${where}: ${problem}`);
}

const actions = {
  log_in: () => page.goto(job.link),
  click: (step) => locate(step.part).click(),
  // Clicks all matching parts, or the first `most` of them.
  click_all: (step) => page.locator(selector(step.part)).evaluateAll(
    (parts, most) => parts.slice(0, most).forEach((part) => part.click()), step.most),
  focus: (step) => locate(step.part).focus(),
  fill: (step) => locate(step.part).fill(step.text),
  select: (step) => locate(step.part).selectOption(step.value),
  choose_file: (step) => locate(step.part).setInputFiles(step.path),
  type: (step) => page.keyboard.type(step.text),
  press_key: (step) => page.keyboard.press(step.key),
  tab_to: (step) => tabTo(step),
  // Loads the page again, as in a new window.
  open_route: async (step) => {
    await page.goto("about:blank");
    await page.goto(new URL(`/${step.hash}`, job.link).href);
  },
  set_size: (step) => page.setViewportSize({ width: step.width, height: step.height }),
  set_theme: (step) => page.emulateMedia({ colorScheme: step.theme, contrast: step.contrast ?? null, reducedMotion: "reduce" }),
  wait_for: (step) => locate(step.part).waitFor({ state: "visible" }),
  wait_until_gone: (step) => locate(step.part).waitFor({ state: "hidden" }),
  wait_until_enabled: (step) =>
    page.locator(`${selector(step.part)}:not(:disabled):not([aria-disabled=true])`).first().waitFor(),
  wait_until_focused: (step) => page.locator(`${selector(step.part)}:focus`).first().waitFor(),
  wait_until_settled: () => page.evaluate(waitUntilSettled),
  wait_for_text: (step) => locate(step.part).filter({ hasText: step.text }).waitFor({ state: "visible" }),
  // Waits until one of several matching parts has the text; `wait_for_text` checks only the first
  // matching part.
  wait_for_any_text: (step) => page.locator(selector(step.part)).filter({ hasText: step.text }).first().waitFor(),
  wait_for_value: (step) => page.waitForFunction(
    ([query, text]) => document.querySelector(query)?.value.includes(text), [selector(step.part), step.text]),
  download: async (step) => {
    const [file] = await Promise.all([page.waitForEvent("download"), locate(step.part).click()]);
    report.values.push(readFileSync(await file.path(), "utf8"));
  },
  evaluate: async (step) => report.values.push(await page.evaluate(step.script)),
  // Clicks a part that copies a text, and adds the text to the report.
  copy: async (step) => {
    await locate(step.part).click();
    report.values.push(await page.evaluate(() => navigator.clipboard.readText()));
  },
  count: async (step) => report.counts.push(await page.locator(selector(step.part)).count()),
  take_screenshot: (step) => takeScreenshot(step.name),
  check_accessibility: (step) => checkAccessibility(step.where),
  check_layout: async (step) => report.layout_problems.push(...(await runCheck(findLayoutProblems, step.where))),
  // Expects one error: the hub has refused a request with this path.
  expect_failed_request: (step) =>
    expectErrors((error) => error.includes(`(${new URL(step.path, job.link).href})`), { firstOnly: true }),
  // Expects the errors of requests that found no hub.
  expect_outage: () => expectErrors((error) => error.includes("net::ERR_"), { firstOnly: false }),
  // Lets the test act, and waits until the test hands back.
  hand_over: async () => {
    console.log("handed over");
    process.stdin.resume();
    await once(process.stdin, "data");
    // Otherwise, the open pipe would keep this process from ending.
    process.stdin.pause();
  },
  wait_for_address: (step) => page.waitForURL((url) => url.href.includes(step.text)),
  check_foreign_content: async (step) => report.foreign_content.push(...(await runCheck(findForeignContent, step.where))),
  record_focus_order: (step) => recordFocusOrder(step),
};

let failure;
for (const step of job.steps) {
  try {
    await actions[step.do](step);
  } catch (error) {
    const text = await page.evaluate(() => document.body?.innerText).catch(() => "");
    failure = `${JSON.stringify(step)}: ${error}\nText of the page: ${text}\nErrors: ${report.errors.join("\n")}`;
    await takeScreenshot("failed").catch(() => {});
    break;
  }
}
await context.close();
if (failure !== undefined) {
  console.error(failure);
  process.exit(1);
}
console.log(JSON.stringify(report));
