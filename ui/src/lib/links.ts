/**
 * Returns whether a link is safe to open: https, or http on this computer, without a user name or a
 * password. The hub checks more.
 */
export function isSafeLink(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const isLocal = ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  return (
    (url.protocol === "https:" || (url.protocol === "http:" && isLocal)) &&
    url.username === "" &&
    url.password === ""
  );
}
