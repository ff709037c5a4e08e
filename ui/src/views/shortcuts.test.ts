import { readFileSync } from "node:fs";
import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { SHORTCUTS } from "../kit/shortcuts";
import { PAGES } from "../routes";
import { texts } from "../texts";
import { advanceTime, open, user, withFakeTime } from "../test/app";

withFakeTime();

const MANUAL = "../../../docs/window.md";

async function press(keys: string) {
  await user.keyboard(keys);
  await advanceTime(5);
}

const focused = () => (document.activeElement as HTMLElement).dataset["testid"];

describe("keyboard shortcuts", () => {
  it("are all listed after “?”, or after a click, and do nothing while the list is open", async () => {
    await open("#/approvals");
    await press("?");
    const sheet = screen.getByTestId("shortcuts");
    for (const { label } of SHORTCUTS) expect(sheet.textContent).toContain(label);
    // An open dialog keeps the keys for itself.
    await press("{Control>}[Digit5]{/Control}");
    expect(location.hash).toBe("#/approvals");
    await user.click(screen.getByRole("button", { name: "Close" }));
    await user.click(screen.getByTestId("open-shortcuts"));
    expect(screen.queryByTestId("shortcuts")).not.toBeNull();
  });

  it("open each page of the sidebar, which shows them", async () => {
    await open("#/approvals");
    const pages = SHORTCUTS.filter(({ id }) => id?.startsWith("page-"));
    expect(pages.map(({ id }) => id?.slice("page-".length))).toEqual([...PAGES]);
    for (const [index, page] of PAGES.entries()) {
      const key = pages[index]?.keys[0]?.replace("Mod+", "") ?? "";
      const link = screen.getByTestId(`nav-${page}`);
      expect(link.title).toBe(`Ctrl+${key}`);
      expect(link.getAttribute("aria-keyshortcuts")).toBe(`Control+${key}`);
      await press(`{Control>}${/\d/.test(key) ? `[Digit${key}]` : key}{/Control}`);
      expect(location.hash).toBe(`#/${page}`);
    }
  });

  it.each([
    ["servers", "server-search"],
    ["policy", "rules-search"],
    ["calls", "call-filter-text"],
    ["memory", "memory-query"],
    ["audit", "audit-text"],
    ["logs", "log-filter-text"],
  ])("“/” focuses the search of %s, which then takes the keys", async (page, search) => {
    await open(`#/${page}`);
    await press("/");
    expect(focused()).toBe(search);
    await press("?n/");
    expect(screen.getByTestId<HTMLInputElement>(search).value).toBe("?n/");
    expect(document.querySelector("dialog[open]")).toBeNull();
  });

  it.each([
    ["servers", "add-server", "server-dialog"],
    ["clients", "add-client", "client-dialog"],
    ["policy", "rule-add", "rule-dialog"],
    ["hooks", "hook-new", "hook-dialog"],
    ["memory", "memory-add", "memory-dialog"],
  ])("Ctrl+N and N add on the screen %s", async (page, button, dialog) => {
    await open(`#/${page}`);
    expect(screen.getByTestId(button).title).toBe("Ctrl+N or N");
    await press("{Control>}n{/Control}");
    expect(screen.queryByTestId(dialog)).not.toBeNull();
    await user.click(screen.getByRole("button", { name: "Close" }));
    await advanceTime(5);
    expect(screen.queryByTestId(dialog)).toBeNull();
    await press("n");
    expect(screen.queryByTestId(dialog)).not.toBeNull();
  });

  it("leave keys that mean nothing on the shown screen to the browser", async () => {
    await open("#/settings");
    const event = new KeyboardEvent("keydown", { key: "n", ctrlKey: true, cancelable: true });
    window.dispatchEvent(event);
    expect(event.defaultPrevented).toBe(false);
  });

  it("are listed in the manual as in the app", () => {
    const manual = readFileSync(new URL(MANUAL, import.meta.url), "utf8");
    const rows = SHORTCUTS.map(({ keys, label }) => {
      const names = keys.map((key) => key.replace("Mod", "Ctrl"));
      return `| ${names.join(` ${texts.shortcuts.or} `)} | ${label} |`;
    });
    expect(manual).toContain(`| keys | what they do |\n|---|---|\n${rows.join("\n")}\n`);
  });
});

describe("the arrow keys", () => {
  it("move through the pages, and through the same buttons of a list's rows", async () => {
    await open("#/policy");
    screen.getByTestId("nav-servers").focus();
    await press("{ArrowDown}");
    expect(focused()).toBe("nav-clients");
    await press("{End}");
    expect(focused()).toBe("nav-settings");
    const edits = screen.getAllByTestId("rule-edit");
    edits[0]?.focus();
    await press("{ArrowDown}");
    expect(document.activeElement).toBe(edits[1]);
    await press("{ArrowUp}{ArrowUp}");
    expect(document.activeElement).toBe(edits[0]);
  });
});

describe("the first link", () => {
  it("skips the sidebar, and keeps the screen", async () => {
    await open("#/policy");
    await user.tab();
    expect(document.activeElement?.textContent).toBe("Skip to content");
    await press("{Enter}");
    expect(document.activeElement?.id).toBe("page-title");
    expect(location.hash).toBe("#/policy");
  });
});
