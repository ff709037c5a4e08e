/** Keeps the popup as high as its content. */

import type { DesktopShell } from "../../ipc";

/** The width for which the content is measured in a window that was never shown, in CSS pixels. */
const FIRST_WIDTH = 460;

/** How often to check whether the pointer has left, while a new height waits for that. */
const POLL_MS = 250;

/**
 * Asks the app for a window of the content's height, whenever the content changes, but not while
 * the pointer is over the window: nothing may move under the pointer. Must be attached to the
 * element that fills the window.
 */
export function fitWindow(desktop: DesktopShell): (content: HTMLElement) => () => void {
  return (content) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    // While the window is hidden, `:hover` keeps its old value. The value is right again once the
    // pointer has moved, and a window that appears under the pointer gets a movement too.
    let isHoverKnown = false;
    const recordPointer = () => (isHoverKnown = true);
    const forgetPointer = () => {
      if (document.visibilityState === "hidden") isHoverKnown = false;
    };

    function fit() {
      clearTimeout(timer);
      const isHidden = document.visibilityState === "hidden";
      // WebKitGTK reports no event when the pointer leaves the window.
      if (!isHidden && isHoverKnown && document.documentElement.matches(":hover")) {
        timer = setTimeout(fit, POLL_MS);
        return;
      }
      const height = measure(content);
      // A hidden popup waits for the height before it appears.
      if (isHidden || height !== window.innerHeight)
        void desktop.fitPopup(height).catch(() => undefined);
    }

    // The countdown changes only texts and styles, which the observer ignores.
    const observer = new MutationObserver(fit);
    observer.observe(content, {
      subtree: true,
      childList: true,
      attributes: true,
      attributeFilter: ["open", "class", "hidden"],
    });
    document.addEventListener("mousemove", recordPointer);
    document.addEventListener("visibilitychange", forgetPointer);
    fit();
    return () => {
      document.removeEventListener("mousemove", recordPointer);
      document.removeEventListener("visibilitychange", forgetPointer);
      observer.disconnect();
      clearTimeout(timer);
    };
  };
}

/** Returns the height that the element would have if nothing had to scroll. */
function measure(content: HTMLElement): number {
  const scrolled = [content, ...content.querySelectorAll("*")].filter(
    (element) => element.scrollTop > 0,
  );
  const places = scrolled.map((element) => element.scrollTop);
  content.style.height = "auto";
  if (window.innerWidth === 0) content.style.width = `${FIRST_WIDTH}px`;
  const height = Math.ceil(content.getBoundingClientRect().height);
  content.style.height = "";
  content.style.width = "";
  scrolled.forEach((element, index) => (element.scrollTop = places[index] ?? 0));
  return height;
}
