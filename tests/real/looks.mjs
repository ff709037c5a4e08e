// What is looked for in a page. Each function runs inside of it, and returns what it found, a sentence each.

// Text that is cut off, that leaves its place, or controls that lie on each other.
export function misfits() {
  const NEAR = 1.5;
  const found = [];
  const dialogs = document.querySelectorAll("dialog[open]");
  const root = dialogs[dialogs.length - 1] ?? document.body;
  const style = new Map();
  const styleOf = (element) => style.get(element) ?? style.set(element, getComputedStyle(element)).get(element);
  const isHushed = (element) => element.closest(".sr-only, svg, select, [hidden], [inert]") !== null;
  const name = (element) => {
    const own = element.dataset.testid ?? element.getAttribute("aria-label") ?? element.className;
    return `<${element.localName} ${own}> "${element.textContent.trim().replace(/\s+/g, " ").slice(0, 60)}"`;
  };
  // In a list a long name may end in dots; what a person decides about may not.
  const mayEndInDots = (element) => styleOf(element).textOverflow === "ellipsis" && !element.closest("[data-testid=approval-card]");

  // The part of the window in which something shows, by what scrolls and what clips around it.
  function view(element) {
    const seen = { left: 0, top: 0, right: innerWidth, bottom: innerHeight, scrollsX: false, scrollsY: false, dots: mayEndInDots(element) };
    for (let around = element; around && around !== document.documentElement; around = around.parentElement) {
      const { overflowX, overflowY, position } = styleOf(around);
      const box = around.getBoundingClientRect();
      if (overflowX !== "visible") [seen.left, seen.right] = [Math.max(seen.left, box.left), Math.min(seen.right, box.right)];
      if (overflowY !== "visible") [seen.top, seen.bottom] = [Math.max(seen.top, box.top), Math.min(seen.bottom, box.bottom)];
      seen.scrollsX ||= overflowX === "auto" || overflowX === "scroll";
      seen.scrollsY ||= overflowY === "auto" || overflowY === "scroll";
      seen.dots ||= mayEndInDots(around);
      if (position === "fixed") break;
    }
    return seen;
  }

  const words = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  // One for all: each that lives has to be told of every change of the page.
  const range = document.createRange();
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || isHushed(element) || !element.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true })) continue;
    const seen = view(element);
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
    const wide = boxes.some((box) => box.left < seen.left - NEAR || box.right > seen.right + NEAR);
    const high = boxes.some((box) => box.top < seen.top - NEAR || box.bottom > seen.bottom + NEAR);
    if (wide && !seen.scrollsX && !seen.dots) found.push(`cut off at its side: ${name(element)}`);
    if (high && !seen.scrollsY) found.push(`cut off above or below: ${name(element)}`);
    const holder = element.closest("button, .chip, [role=tab]");
    const frame = holder?.getBoundingClientRect();
    if (frame && boxes.some((box) => box.left < frame.left - NEAR || box.right > frame.right + NEAR || box.bottom > frame.bottom + NEAR)) {
      found.push(`leaves its own frame: ${name(holder)}`);
    }
  }

  for (const element of root.querySelectorAll("*")) {
    if (isHushed(element) || !element.checkVisibility() || !element.textContent.trim() || mayEndInDots(element)) continue;
    const { overflowX, overflowY, display } = styleOf(element);
    const hides = (overflow) => overflow === "hidden" || overflow === "clip";
    if (display === "inline" || element.closest("input, textarea")) continue;
    if (hides(overflowX) && element.scrollWidth > element.clientWidth + NEAR) found.push(`hides a part of its width: ${name(element)}`);
    if (hides(overflowY) && element.scrollHeight > element.clientHeight + NEAR) found.push(`hides a part of its height: ${name(element)}`);
  }
  if (document.scrollingElement.scrollWidth > innerWidth + NEAR) found.push("the page is wider than its window");

  const controls = [...root.querySelectorAll("button, a[href], input, select, textarea")].filter((one) => !isHushed(one.parentElement) && one.checkVisibility());
  const places = controls.map((control) => {
    const [box, seen] = [control.getBoundingClientRect(), view(control.parentElement)];
    return { left: Math.max(box.left, seen.left), top: Math.max(box.top, seen.top), right: Math.min(box.right, seen.right), bottom: Math.min(box.bottom, seen.bottom) };
  });
  for (const [at, one] of places.entries()) {
    for (const [more, other] of places.slice(at + 1).entries()) {
      const [a, b] = [controls[at], controls[at + 1 + more]];
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (across > NEAR && down > NEAR && !a.contains(b) && !b.contains(a)) found.push(`one lies on the other: ${name(a)} and ${name(b)}`);
    }
  }
  return [...new Set(found)];
}

// What is there as an element, a handler or an address though it was written by others, and what of theirs is in a
// text or a label as it is though it shows nothing or turns the order around it.
export function intruders() {
  const found = [];
  const own = (address) => address === "" || new URL(address, location.href).origin === location.origin;
  const tell = (what, element) => found.push(`${what}: ${element.outerHTML.slice(0, 160)}`);
  if (window.__pwned !== undefined) found.push(`payload ${window.__pwned} has run`);
  for (const element of document.querySelectorAll("*")) {
    const { localName, attributes } = element;
    if (/intruder/.test(element.className.baseVal ?? element.className) || localName.includes("intruder")) tell("an element of a payload", element);
    if (element.closest("bdi") && localName !== "bdi" && !element.matches("span.chip")) tell("markup within a text", element);
    if (["iframe", "frame", "object", "embed", "applet", "base", "style", "img", "video", "audio", "portal"].includes(localName)) tell("an element that the app has not", element);
    if (localName === "script" && (element.text || !own(element.src))) tell("a script", element);
    if (localName === "link" && !own(element.href)) tell("a link", element);
    if (localName === "meta" && element.httpEquiv) tell("a directive", element);
    if (localName === "a" && !(own(element.href) && /^https?:$/.test(element.protocol))) tell("an address", element);
    for (const { name } of attributes) if (/^on/i.test(name)) tell("a handler", element);
  }
  const RAW = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]/u;
  const look = (text, where) => {
    const plain = (text ?? "").replace(/[\n\t]/g, "").replace(/(\p{Extended_Pictographic})\ufe0f/gu, "$1");
    const raw = RAW.exec(plain);
    if (raw) found.push(`U+${raw[0].codePointAt(0).toString(16)} as it is in ${where}: ${JSON.stringify(plain.slice(Math.max(0, raw.index - 20), raw.index + 20))}`);
  };
  look(document.title, "the title");
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) look(node.data, `<${node.parentElement.localName} ${node.parentElement.className}>`);
  for (const element of document.querySelectorAll("*")) {
    for (const name of ["title", "aria-label", "aria-description", "placeholder", "alt", "label"]) look(element.getAttribute(name), `${name} of <${element.localName}>`);
    if (element.matches("input, textarea")) look(element.value, `the value of <${element.localName}>`);
  }
  return [...new Set(found)];
}

// What has the keyboard, whether that shows, and whether it is within sight.
export function focused() {
  const element = document.activeElement;
  if (!element || element === document.body) return { part: "", place: "nothing", isRinged: true, isInSight: true };
  const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  const middle = { x: box.left + Math.min(box.width, 40) / 2, y: box.top + Math.min(box.height, 20) / 2 };
  const at = document.elementFromPoint(middle.x, middle.y);
  return {
    part: element.dataset.testid ?? element.getAttribute("aria-label") ?? element.textContent.trim(),
    place: `<${element.localName}> ${element.dataset.testid ?? element.className}`,
    isRinged: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && !/, 0\)$|transparent/.test(outlineColor),
    isInSight: at !== null && (element.contains(at) || at.contains(element)),
  };
}
