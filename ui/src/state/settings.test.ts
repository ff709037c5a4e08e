import { expect, test, vi } from "vitest";
import type { Ipc } from "../ipc";
import { Settings } from "./settings.svelte";

function settingsAt(url: string) {
  const calls: string[] = [];
  const call = vi.fn((verb: string) => {
    calls.push(verb);
    return Promise.resolve(verb === "screens.open" ? { url: "", code: "a/c" } : { url });
  });
  const settings = new Settings({ call } as unknown as Ipc);
  settings.view = { url } as Settings["view"];
  return { settings, calls };
}

const page = (address: string) => new URL(address) as unknown as Location;

test("a page of the endpoint moves to the new port, where a code signs it in", async () => {
  const { settings, calls } = settingsAt("http://127.0.0.1:8765/mcp");
  const moved = await settings.changePort(9000, page("http://127.0.0.1:8765/#/settings"));
  expect(moved).toBe("http://127.0.0.1:9000/#login=a%2Fc");
  expect(calls).toEqual(["screens.open", "settings.change"]);
});

test("a page from elsewhere stays where it is", async () => {
  const { settings, calls } = settingsAt("http://127.0.0.1:8765/mcp");
  expect(await settings.changePort(9000, page("http://tauri.localhost/"))).toBe(null);
  expect(calls).toEqual(["settings.change"]);
});
