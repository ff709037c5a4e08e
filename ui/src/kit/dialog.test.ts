import { fireEvent, screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const dialog = () => screen.getByTestId("rule-dialog");
const question = () => screen.queryByTestId("confirm-dialog");

async function openForm() {
  const hub = await open("#/policy");
  await user.click(screen.getByTestId("rule-add"));
  await advanceTime(1);
  return hub;
}

/** Presses Escape as a browser does, which jsdom does not. */
async function pressEscape(element: HTMLElement) {
  if (await fireEvent(element, new Event("cancel", { cancelable: true })))
    (element as HTMLDialogElement).close();
  await advanceTime(1);
}

/** Presses at one place and releases at another. jsdom has no layout: a dialog is at 0, 0. */
async function click(from: number, to = from) {
  await fireEvent.pointerDown(dialog(), { clientX: from });
  await fireEvent.click(dialog(), { clientX: to });
  await advanceTime(1);
}

async function changeNote() {
  const note = screen.getByTestId<HTMLInputElement>("rule-note");
  await user.type(note, "x");
  return note;
}

describe("a dialog with a form", () => {
  it.each([
    ["Escape", () => pressEscape(dialog())],
    ["a click outside", () => click(50)],
    ["×", () => user.click(screen.getByRole("button", { name: "Close" }))],
  ])("closes at %s if nothing was changed", async (_, close) => {
    await openForm();
    await close();
    expect(screen.queryByTestId("rule-dialog")).toBeNull();
    expect(question()).toBeNull();
  });

  it.each([
    ["Escape", () => pressEscape(dialog())],
    ["a click outside", () => click(50)],
    ["×", () => user.click(screen.getByRole("button", { name: "Close" }))],
  ])("asks at %s before it discards changes", async (_, close) => {
    const hub = await openForm();
    const note = await changeNote();
    await close();
    expect(question()?.textContent).toContain("Discard changes?");
    await user.click(screen.getByText("Keep editing"));
    expect(question()).toBeNull();
    expect(note.value).toBe("x");
    await close();
    await user.click(screen.getByTestId("confirm"));
    await advanceTime(1);
    expect(screen.queryByTestId("rule-dialog")).toBeNull();
    expect(listParams(hub, "policy.save")).toEqual([]);
  });

  it("does not ask if a change was undone", async () => {
    await openForm();
    await changeNote();
    await user.keyboard("{Backspace}");
    await pressEscape(dialog());
    expect(screen.queryByTestId("rule-dialog")).toBeNull();
  });

  it("stays open if a selection of text ends outside", async () => {
    await openForm();
    await click(0, 50);
    expect(dialog()).toBeTruthy();
  });

  it("that shows a token once stays open at a click outside", async () => {
    await open("#/clients/+add");
    await user.type(screen.getByTestId("client-name"), "new-client");
    await user.click(screen.getByTestId("client-create"));
    await advanceTime(1);
    const shown = screen.getByTestId("client-dialog");
    expect(screen.getByTestId("client-token").textContent).not.toBe("");
    await fireEvent.pointerDown(shown, { clientX: 50 });
    await fireEvent.click(shown, { clientX: 50 });
    expect(screen.queryByTestId("client-dialog")).toBe(shown);
    await user.click(screen.getByRole("button", { name: "Close" }));
    await advanceTime(1);
    expect(screen.queryByTestId("client-dialog")).toBeNull();
    expect(question()).toBeNull();
  });
});
