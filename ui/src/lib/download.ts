/** Has the browser or the window save a text as a file. */
export function downloadText(name: string, text: string, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  // The download has begun; the text need not stay in memory.
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
}
