// An expression: a function of {name, ready, act} that measures one screen of the web UI. The
// function opens the screen `name` by its URL, and waits until a part with the selector `ready` is
// painted. If `act` is true, it then scrolls the longest list of the screen, and types in the
// screen's search field. All times are in milliseconds.
async ({ name, ready, act }) => {
  const TIMEOUT_MS = 20_000;
  const nextFrame = () => new Promise((next) => requestAnimationFrame(next));

  async function open() {
    const begin = performance.now();
    location.hash = `#/${name}`;
    while (!document.querySelector("main")?.querySelector(ready)) {
      if (performance.now() - begin > TIMEOUT_MS) throw new Error(`the screen ${name} shows no ${ready}`);
      await nextFrame();
    }
    // The browser paints the frame with the part before the next frame begins.
    await nextFrame();
    return performance.now() - begin;
  }

  // Runs `step` once in each of `count` frames, and returns the times between the frames.
  async function measureFrames(count, step) {
    const times = [];
    let last = await nextFrame();
    for (let number = 0; number < count; number += 1) {
      step(number);
      const now = await nextFrame();
      times.push(now - last);
      last = now;
    }
    return times;
  }

  function findLongestList() {
    const scrolls = (element) =>
      element.scrollHeight > element.clientHeight + 50 &&
      ["auto", "scroll"].includes(getComputedStyle(element).overflowY);
    const lists = [...document.querySelectorAll("main, main *")].filter(scrolls);
    return lists.sort((a, b) => b.scrollHeight - a.scrollHeight)[0];
  }

  // Scrolls in small steps, as with a wheel, and then through the whole list, as with the scroll
  // bar.
  async function scroll() {
    const list = findLongestList();
    if (!list) return null;
    list.scrollTop = 0;
    const bySteps = await measureFrames(60, () => { list.scrollTop += 60; });
    const jump = list.scrollHeight / 60;
    const byJumps = await measureFrames(60, (number) => { list.scrollTop = jump * number; });
    return [...bySteps, ...byJumps];
  }

  async function type() {
    const field = document.querySelector("main input[type=search]");
    if (!field) return null;
    field.focus();
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
    const setText = (text) => {
      set.call(field, text);
      field.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const FRAMES_PER_KEY = 6;
    const text = "server";
    const times = await measureFrames((2 * text.length + 1) * FRAMES_PER_KEY, (number) => {
      const key = number / FRAMES_PER_KEY;
      if (!Number.isInteger(key)) return;
      setText(text.slice(0, key <= text.length ? key : 2 * text.length - key));
    });
    setText("");
    return times;
  }

  const opened = await open();
  if (!act) return { opened, scrolling: null, typing: null };
  return { opened, scrolling: await scroll(), typing: await type() };
}
