import { render, screen } from "@testing-library/svelte";
import { afterEach, expect, it, vi } from "vitest";
import App from "../App.svelte";
import { FakeHub } from "../ipc/fake";

vi.mock("./AuditView.svelte", () => {
  throw new Error("the file cannot be read");
});

afterEach(() => {
  location.hash = "";
});

it("says that a screen cannot be loaded, and loads the next screen", async () => {
  location.hash = "#/audit";
  render(App, { ipc: new FakeHub() });
  const message = await screen.findByTestId("screen-failed");
  expect(message.textContent).toContain("This screen could not be loaded");
  expect(screen.queryByRole("heading", { level: 1 })).toBeNull();

  location.hash = "#/hooks";
  const heading = await screen.findByRole("heading", { level: 1 });
  expect(heading.textContent).toBe("Hooks");
  await vi.waitFor(() => expect(document.activeElement).toBe(heading));
  expect(screen.queryByTestId("screen-failed")).toBeNull();
});
