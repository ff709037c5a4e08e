import { fireEvent, screen } from "@testing-library/svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import { pass, user, withFakeTime } from "../test/app";
import { button, decisions, GUARD, openPopup, tooHigh } from "../test/popup";

withFakeTime();
afterEach(() => vi.restoreAllMocks());

const text = () => screen.getByTestId<HTMLTextAreaElement>("edit-text");

async function openEdit(arguments_: string) {
  const hub = await openPopup((one) => one.ask({ arguments: arguments_ }));
  await user.click(button("edit"));
  await pass(GUARD);
  return hub;
}

describe("arguments that are edited", () => {
  it("begin as the client sent them, numbers as they were written and nothing hidden", async () => {
    await openEdit('{"n":1.50,"path":"/a\u202eb"}');
    expect(text().value).toBe('{\n  "n": 1.50,\n  "path": "/a\\u202eb"\n}');
    expect(screen.getByTestId("edit-diff").textContent).toContain("Nothing yet");
  });

  it("are sent exactly as they stand there", async () => {
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

  it("are not sent while they are no JSON, with the line of the fault", async () => {
    const hub = await openEdit('{"path":"/a"}');
    await fireEvent.input(text(), { target: { value: '{\n  "path": "/a\n}' } });
    expect(screen.getByTestId("edit-fault").textContent).toBe(
      "Line 2, column 14: control character in a string.",
    );
    expect(button("approve-edited").disabled).toBe(true);
    await user.click(button("approve-edited"));
    expect(decisions(hub)).toEqual([]);
  });

  it("wait on with the reason where the hub refuses them, and keep what was written", async () => {
    const hub = await openEdit('{"path":"/a"}');
    await fireEvent.input(text(), { target: { value: '{"path":"/etc/passwd"}' } });
    await user.click(button("approve-edited"));
    await pass(1);
    expect(screen.getByTestId("approval-error").textContent).toContain(
      "A rule denies these arguments",
    );
    expect(text().value).toBe('{"path":"/etc/passwd"}');
    expect(hub.waiting).toHaveLength(1);
  });

  it("take no decision in the first half second, and none by a key until Tab has led there", async () => {
    const hub = await openPopup((one) => one.ask());
    await user.click(button("edit"));
    expect(button("approve-edited").disabled).toBe(true);
    await pass(GUARD);
    expect(button("approve-edited").disabled).toBe(false);
    button("approve-edited").focus();
    await user.keyboard("{Enter} ");
    expect(decisions(hub)).toEqual([]);
    await user.tab();
    button("approve-edited").focus();
    await user.keyboard(" ");
    expect(decisions(hub)).toHaveLength(1);
  });

  it("cannot be opened before the client's own were read", async () => {
    tooHigh();
    await openPopup((one) => one.ask());
    expect(button("edit").disabled).toBe(true);
  });
});
