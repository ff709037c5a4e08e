import { describe, expect, it } from "vitest";
import { isPage } from "./page";

describe("a page to sign in on", () => {
  it("is https, or on this machine", () => {
    for (const url of [
      "https://auth.example.com/a?b=c",
      "http://127.0.0.1:4000/auth",
      "http://localhost/x",
    ])
      expect(isPage(url)).toBe(true);
  });

  it("is nothing that runs, reads files or hides where it leads", () => {
    for (const url of [
      "javascript:alert(1)",
      "JAVASCRIPT:x",
      "file:///etc/passwd",
      "data:text/html,x",
      "http://auth.example.com",
      "https://a@b.example",
      "x",
      "",
    ]) {
      expect(isPage(url), url).toBe(false);
    }
  });
});
