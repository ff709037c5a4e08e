/** Keeps the popup as high as its content. */

import type { DesktopShell } from "../../ipc";

/** The width for which the content is measured in a window that was never shown, in CSS pixels. */
const FIRST_WIDTH = 460;

/**
 * Asks the app for a window of the content's height, whenever the content changes, but not while
 * the pointer is over the window: nothing may move under the pointer. Must be attached to the
 * element that fills the window.
 */
export function fitWindow(desktop: DesktopShell): (content: HTMLElement) => () => void {
  return (content) => {
    const page = document.documentElement;
    let isPointerOver = false;

    function fit() {
      const isHidden = document.visibilityState === "hidden";
      if (isPointerOver && !isHidden) return;
      const height = measure(content);
      // A hidden popup waits for the height before it appears.
      if (isHidden || height !== window.innerHeight)
        void desktop.fitPopup(height).catch(() => undefined);
    }
    function enter() {
      isPointerOver = true;
    }
    function leave() {
      isPointerOver = false;
      fit();
    }
    function leaveIfHidden() {
      if (document.visibilityState === "hidden") isPointerOver = false;
    }

    // The countdown changes only texts and styles, which do not count.
    const observer = new MutationObserver(fit);
    observer.observe(content, {
      subtree: true,
      childList: true,
      attributes: true,
      attributeFilter: ["open", "class", "hidden"],
    });
    page.addEventListener("mouseenter", enter);
    page.addEventListener("mouseleave", leave);
    document.addEventListener("visibilitychange", leaveIfHidden);
    fit();
    return () => {
      observer.disconnect();
      page.removeEventListener("mouseenter", enter);
      page.removeEventListener("mouseleave", leave);
      document.removeEventListener("visibilitychange", leaveIfHidden);
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
