/** Whether a link may lead there: https, or http on this machine. The hub checks more; this is the screen's own look. */
export function isPage(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const here = ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  return (
    (url.protocol === "https:" || (url.protocol === "http:" && here)) &&
    url.username === "" &&
    url.password === ""
  );
}
