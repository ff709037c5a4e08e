// Checks of a page. Playwright runs each function inside the page, so a function must not use
// anything outside of its own body.

/**
 * Returns a sentence for each text that is cut off or overflows its control, for each element that
 * clips its content, for each pair of overlapping controls, and for a page that is wider than its
 * window.
 */
export function findLayoutProblems() {
  const TOLERANCE = 1.5;
  const problems = [];
  const dialogs = document.querySelectorAll("dialog[open]");
  const root = dialogs[dialogs.length - 1] ?? document.body;
  const styles = new Map();
  const styleOf = (element) => styles.get(element) ?? styles.set(element, getComputedStyle(element)).get(element);
  const isIgnored = (element) => element.closest(".sr-only, svg, select, [hidden], [inert]") !== null;
  const describe = (element) => {
    const label = element.dataset.testid ?? element.getAttribute("aria-label") ?? element.className;
    return `<${element.localName} ${label}> "${element.textContent.trim().replace(/\s+/g, " ").slice(0, 60)}"`;
  };
  // A list may shorten a long name with an ellipsis. The details of an approval must be complete.
  const mayBeShortened = (element) => styleOf(element).textOverflow === "ellipsis" && !element.closest("[data-testid=approval-card]");

  // Returns the part of the window in which the scrolling and clipping ancestors show the element.
  function visibleArea(element) {
    const area = { left: 0, top: 0, right: innerWidth, bottom: innerHeight, scrollsX: false, scrollsY: false, isShortened: mayBeShortened(element) };
    for (let ancestor = element; ancestor && ancestor !== document.documentElement; ancestor = ancestor.parentElement) {
      const { overflowX, overflowY, position } = styleOf(ancestor);
      const box = ancestor.getBoundingClientRect();
      if (overflowX !== "visible") [area.left, area.right] = [Math.max(area.left, box.left), Math.min(area.right, box.right)];
      if (overflowY !== "visible") [area.top, area.bottom] = [Math.max(area.top, box.top), Math.min(area.bottom, box.bottom)];
      area.scrollsX ||= overflowX === "auto" || overflowX === "scroll";
      area.scrollsY ||= overflowY === "auto" || overflowY === "scroll";
      area.isShortened ||= mayBeShortened(ancestor);
      if (position === "fixed") break;
    }
    return area;
  }

  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  // All nodes share one range, because the browser updates every live range if the page changes.
  const range = document.createRange();
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || isIgnored(element) || !element.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true })) continue;
    const area = visibleArea(element);
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
    const isTooWide = boxes.some((box) => box.left < area.left - TOLERANCE || box.right > area.right + TOLERANCE);
    const isTooHigh = boxes.some((box) => box.top < area.top - TOLERANCE || box.bottom > area.bottom + TOLERANCE);
    if (isTooWide && !area.scrollsX && !area.isShortened) problems.push(`text is cut off on the left or right: ${describe(element)}`);
    if (isTooHigh && !area.scrollsY) problems.push(`text is cut off at the top or bottom: ${describe(element)}`);
    const control = element.closest("button, .chip, [role=tab]");
    const frame = control?.getBoundingClientRect();
    // Only the part of a shortened text before the ellipsis counts.
    const rightEnd = (box) => (area.isShortened ? Math.min(box.right, area.right) : box.right);
    if (frame && boxes.some((box) => box.left < frame.left - TOLERANCE || rightEnd(box) > frame.right + TOLERANCE || box.bottom > frame.bottom + TOLERANCE)) {
      problems.push(`text overflows its control: ${describe(control)}`);
    }
  }

  for (const element of root.querySelectorAll("*")) {
    if (isIgnored(element) || !element.checkVisibility() || !element.textContent.trim() || mayBeShortened(element)) continue;
    const { overflowX, overflowY, display } = styleOf(element);
    const clips = (overflow) => overflow === "hidden" || overflow === "clip";
    if (display === "inline" || element.closest("input, textarea")) continue;
    if (clips(overflowX) && element.scrollWidth > element.clientWidth + TOLERANCE) problems.push(`clips the width of its content: ${describe(element)}`);
    if (clips(overflowY) && element.scrollHeight > element.clientHeight + TOLERANCE) problems.push(`clips the height of its content: ${describe(element)}`);
  }
  if (document.scrollingElement.scrollWidth > innerWidth + TOLERANCE) problems.push("the page is wider than its window");

  const controls = [...root.querySelectorAll("button, a[href], input, select, textarea")].filter((control) => !isIgnored(control.parentElement) && control.checkVisibility());
  const boxes = controls.map((control) => {
    const [box, area] = [control.getBoundingClientRect(), visibleArea(control.parentElement)];
    return { left: Math.max(box.left, area.left), top: Math.max(box.top, area.top), right: Math.min(box.right, area.right), bottom: Math.min(box.bottom, area.bottom) };
  });
  // Returns the bar at the bottom in which the control stays in place, if there is one and the
  // controls under it can still be scrolled out.
  function barOf(control) {
    const ancestors = [];
    for (let ancestor = control; ancestor && ancestor !== root.parentElement; ancestor = ancestor.parentElement) ancestors.push(ancestor);
    const bar = ancestors.find((ancestor) => styleOf(ancestor).position === "sticky" && styleOf(ancestor).bottom !== "auto");
    const scroller = bar && ancestors.slice(ancestors.indexOf(bar) + 1).find((ancestor) => ["auto", "scroll"].includes(styleOf(ancestor).overflowY));
    const isAtEnd = !scroller || scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - TOLERANCE;
    return isAtEnd ? null : bar;
  }
  const bars = controls.map(barOf);
  for (const [index, first] of boxes.entries()) {
    for (const [offset, second] of boxes.slice(index + 1).entries()) {
      const [a, b] = [controls[index], controls[index + 1 + offset]];
      if ((bars[index] === null) !== (bars[index + 1 + offset] === null)) continue;
      const width = Math.min(first.right, second.right) - Math.max(first.left, second.left);
      const height = Math.min(first.bottom, second.bottom) - Math.max(first.top, second.top);
      if (width > TOLERANCE && height > TOLERANCE && !a.contains(b) && !b.contains(a)) problems.push(`controls overlap: ${describe(a)} and ${describe(b)}`);
    }
  }
  return [...new Set(problems)];
}

/**
 * Returns a sentence for a payload that has run, for each element, event handler and URL that
 * foreign text added to the page, and for each invisible or direction-changing character that a
 * text, a label or a field shows without an escape.
 */
export function findForeignContent() {
  const problems = [];
  const isOwnUrl = (url) => url === "" || new URL(url, location.href).origin === location.origin;
  const report = (problem, element) => problems.push(`${problem}: ${element.outerHTML.slice(0, 160)}`);
  if (window.__pwned !== undefined) problems.push(`payload ${window.__pwned} has run`);
  for (const element of document.querySelectorAll("*")) {
    const { localName, attributes } = element;
    if (/intruder/.test(element.className.baseVal ?? element.className) || localName.includes("intruder")) report("an element of a payload", element);
    if (element.closest("bdi") && localName !== "bdi" && !element.matches("span.chip")) report("markup within a text", element);
    // The only image of the app is its icon.
    const isIcon = element.matches("img[data-testid=app-icon]") && element.src === new URL("icon.svg", document.baseURI).href;
    if (!isIcon && ["iframe", "frame", "object", "embed", "applet", "base", "style", "img", "video", "audio", "portal"].includes(localName)) report("an element that the app does not use", element);
    if (localName === "script" && (element.text || !isOwnUrl(element.src))) report("a foreign script", element);
    if (localName === "link" && !isOwnUrl(element.href)) report("a foreign link", element);
    if (localName === "meta" && element.httpEquiv) report("an http-equiv directive", element);
    if (localName === "a" && !(isOwnUrl(element.href) && /^https?:$/.test(element.protocol))) report("a foreign URL", element);
    for (const { name } of attributes) if (/^on/i.test(name)) report("an event handler", element);
  }
  const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]/u;
  const checkText = (text, place) => {
    const checked = (text ?? "").replace(/[\n\t]/g, "").replace(/(\p{Extended_Pictographic})\ufe0f/gu, "$1");
    const unsafe = UNSAFE.exec(checked);
    if (unsafe) {
      const context = checked.slice(Math.max(0, unsafe.index - 20), unsafe.index + 20);
      problems.push(`unescaped U+${unsafe[0].codePointAt(0).toString(16)} in ${place}: ${JSON.stringify(context)}`);
    }
  };
  checkText(document.title, "the title");
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) checkText(node.data, `<${node.parentElement.localName} ${node.parentElement.className}>`);
  for (const element of document.querySelectorAll("*")) {
    for (const name of ["title", "aria-label", "aria-description", "placeholder", "alt", "label"]) checkText(element.getAttribute(name), `${name} of <${element.localName}>`);
    if (element.matches("input, textarea")) checkText(element.value, `the value of <${element.localName}>`);
  }
  return [...new Set(problems)];
}

/**
 * Describes the focused element: its test ID, label or text, whether it shows a focus ring, and
 * whether it is in view.
 */
export function describeFocus() {
  const element = document.activeElement;
  if (!element || element === document.body) return { part: "", place: "nothing", hasFocusRing: true, isInView: true };
  const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  const point = { x: box.left + Math.min(box.width, 40) / 2, y: box.top + Math.min(box.height, 20) / 2 };
  const topmost = document.elementFromPoint(point.x, point.y);
  return {
    part: element.dataset.testid ?? element.getAttribute("aria-label") ?? element.textContent.trim(),
    place: `<${element.localName}> ${element.dataset.testid ?? element.className}`,
    hasFocusRing: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && !/, 0\)$|transparent/.test(outlineColor),
    isInView: topmost !== null && (element.contains(topmost) || topmost.contains(element)),
  };
}
