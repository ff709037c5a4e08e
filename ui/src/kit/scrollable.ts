/**
 * Lets the Tab key reach a box that scrolls and has no control, so that its content can be scrolled
 * with the arrow keys. The box needs a role and a name.
 */
export function reachIfScrolling(box: HTMLElement): () => void {
  const CONTROLS =
    'a[href], button:enabled, input:enabled, select:enabled, textarea, [tabindex="0"]';
  function update() {
    const scrolls = box.scrollHeight > box.clientHeight;
    if (scrolls && !box.querySelector(CONTROLS)) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
  const sizes = new ResizeObserver(update);
  sizes.observe(box);
  const contents = new MutationObserver(update);
  contents.observe(box, { childList: true, subtree: true });
  return () => {
    sizes.disconnect();
    contents.disconnect();
  };
}
