/** Adds browser APIs that jsdom lacks. */

HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
  this.setAttribute("open", "");
};
HTMLDialogElement.prototype.close ??= function (this: HTMLDialogElement) {
  this.removeAttribute("open");
  this.dispatchEvent(new Event("close"));
};
Element.prototype.scrollIntoView ??= () => undefined;
globalThis.ResizeObserver ??= class {
  observe() {
    /* jsdom has no layout */
  }
  unobserve() {
    /* jsdom has no layout */
  }
  disconnect() {
    /* jsdom has no layout */
  }
};
// jsdom has no canvas, and would report each attempt to draw on one.
HTMLCanvasElement.prototype.getContext = () => null;
