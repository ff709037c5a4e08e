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
  const listener = { name: "http", address: url, listening: true, error: "" };
  settings.health = { transports: [listener] } as unknown as Settings["health"];
  return { settings, calls };
}

const page = (address: string) => new URL(address) as unknown as Location;

test("a page of the endpoint moves to the new port, where a code signs it in", async () => {
  for (const host of ["127.0.0.1", "nas.local"]) {
    const { settings, calls } = settingsAt("http://127.0.0.1:8765/mcp");
    const moved = await settings.changePort(9000, page(`http://${host}:8765/#/settings`));
    expect(moved).toBe(`http://${host}:9000/#login=a%2Fc&screen=%23%2Fsettings`);
    expect(calls).toEqual(["screens.open", "settings.change"]);
  }
});

test("a page from elsewhere stays where it is", async () => {
  const { settings, calls } = settingsAt("http://127.0.0.1:8765/mcp");
  expect(await settings.changePort(9000, page("http://tauri.localhost/"))).toBe(null);
  expect(calls).toEqual(["settings.change"]);
});
