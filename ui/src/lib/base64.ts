/** Returns the bytes of a file in base64. Fails if the file cannot be read. */
export function readBase64(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve((reader.result as string).split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error as DOMException);
    reader.readAsDataURL(file);
  });
}
