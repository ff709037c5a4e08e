import { fireEvent, screen } from "@testing-library/svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import { advanceTime, user, withFakeTime } from "../test/app";
import { button, decisions, CLICK_GUARD_MS, openPopup, mockOverflow } from "../test/popup";

withFakeTime();
afterEach(() => vi.restoreAllMocks());

const text = () => screen.getByTestId<HTMLTextAreaElement>("edit-text");

async function openEdit(arguments_: string) {
  const hub = await openPopup((fake) => fake.addApproval({ arguments: arguments_ }));
  await user.click(button("edit"));
  await advanceTime(CLICK_GUARD_MS);
  return hub;
}

describe("arguments that are edited", () => {
  it("start as the client sent them, with numbers as they were written and hidden characters revealed", async () => {
    await openEdit('{"n":1.50,"path":"/a\u202eb"}');
    expect(text().value).toBe('{\n  "n": 1.50,\n  "path": "/a\\u202eb"\n}');
    expect(screen.getByTestId("edit-diff").textContent).toContain("No changes yet");
  });

  it("are sent exactly as they are written", async () => {
    const hub = await openEdit('{"path":"/a","force":true}');
    const edited = '{\n  "path": "/b",\n  "big": 12345678901234567890\n}';
    await fireEvent.input(text(), { target: { value: edited } });
    expect(screen.getByTestId("edit-diff").textContent.replaceAll(/\s+/g, " ")).toContain(
      '−removed: "path": "/a",',
    );
    await user.click(button("approve-edited"));
    expect(decisions(hub)).toMatchObject([
      { verdict: { kind: "approve_once", arguments: edited } },
    ]);
  });

  it("are not sent while they are malformed, and the line of the error is shown", async () => {
    const hub = await openEdit('{"path":"/a"}');
    await fireEvent.input(text(), { target: { value: '{\n  "path": "/a\n}' } });
    expect(screen.getByTestId("edit-error").textContent).toBe(
      "Line 2, column 14: control character in a string.",
    );
    expect(button("approve-edited").disabled).toBe(true);
    await user.click(button("approve-edited"));
    expect(decisions(hub)).toEqual([]);
  });

  it("stay in the editor, with the reason, if the hub refuses them", async () => {
    const hub = await openEdit('{"path":"/a"}');
    await fireEvent.input(text(), { target: { value: '{"path":"/etc/passwd"}' } });
    await user.click(button("approve-edited"));
    await advanceTime(1);
    expect(screen.getByTestId("approval-error").textContent).toContain(
      "A rule denies these arguments",
    );
    expect(text().value).toBe('{"path":"/etc/passwd"}');
    expect(hub.waiting).toHaveLength(1);
  });

  it("cannot be approved in the first half second, nor by a key before Tab was used", async () => {
    const hub = await openPopup((fake) => fake.addApproval());
    await user.click(button("edit"));
    expect(button("approve-edited").disabled).toBe(true);
    await advanceTime(CLICK_GUARD_MS);
    expect(button("approve-edited").disabled).toBe(false);
    button("approve-edited").focus();
    await user.keyboard("{Enter} ");
    expect(decisions(hub)).toEqual([]);
    await user.tab();
    button("approve-edited").focus();
    await user.keyboard(" ");
    expect(decisions(hub)).toHaveLength(1);
  });

  it("cannot be edited before the client's arguments were read", async () => {
    mockOverflow();
    await openPopup((fake) => fake.addApproval());
    expect(button("edit").disabled).toBe(true);
  });
});
