import { describe, expect, it } from "vitest";
import { isSafeLink } from "./links";

describe("a safe link", () => {
  it("is https, or on this computer", () => {
    for (const url of [
      "https://auth.example.com/a?b=c",
      "http://127.0.0.1:4000/auth",
      "http://localhost/x",
    ])
      expect(isSafeLink(url)).toBe(true);
  });

  it("does not run code, read files or hide its host", () => {
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
      expect(isSafeLink(url), url).toBe(false);
    }
  });
});
