// A timeline below the scene: keys to drag, a playhead to scrub, bars for locks.
//
// The server describes it as JSON in the attribute data-exactik-timeline of an element of the panel:
// {keys: [s], now: s, locks: [{bone, first, last}], playing, loop}. What is done to it is told back
// (see _desk.js): scrub {time}, key-chosen {time}, key-moved {time, to}, key-added {time}, play, loop.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const HEIGHT = 76, MARGIN = 14, RULER = 18, KEY_Y = 30, LOCK_Y = 42, LOCK_STEP = 11; // [px]
  const SNAP = 0.01; // [s] to which dragged keys are rounded
  const MIN_SPAN = 2.0; // [s] that are shown at least
  const MOVED = 3; // [px] below which a press is a click
  const SCRUB_MS = 40; // between two messages while the playhead is dragged
  let bar, svg, buttons, state = { keys: [], now: 0, locks: [], playing: false, loop: false };
  let drag = null, text = "", lastScrub = 0, drawnWidth = 0;

  const tell = (kind, event = {}) => window.exactikTell(kind, event);
  const span = () => Math.max(MIN_SPAN, 1.25 * Math.max(0, ...state.keys), state.now);
  const width = () => svg.clientWidth - 2 * MARGIN;
  const toX = (time) => MARGIN + (time / span()) * width();
  const toTime = (x) => {
    const time = ((x - svg.getBoundingClientRect().left - MARGIN) / width()) * span();
    return Math.max(0, Math.round(time / SNAP) * SNAP);
  };

  function add(parent, tag, attributes, label) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (label !== undefined) node.textContent = label;
    parent.append(node);
    return node;
  }

  function build() {
    bar = document.createElement("div");
    bar.id = "exactik-timeline";
    // Not quite opaque: Chromium does not draw the part of a canvas that something opaque hides, and
    // where it draws without a graphics processor it leaves out the upper end instead of the lower.
    bar.style.cssText = `opacity:0.99;position:fixed;height:${HEIGHT}px;z-index:5;display:flex;font:12px sans-serif;
      user-select:none;touch-action:none;background:var(--mantine-color-body,#fff);
      color:var(--mantine-color-text,#222);border-top:1px solid var(--mantine-color-default-border,#ccc)`;
    buttons = {};
    const column = document.createElement("div");
    column.style.cssText = "display:flex;flex-direction:column;justify-content:center;padding:0 6px;gap:2px";
    for (const [name, kind] of [["play", "play"], ["loop", "loop"], ["key", "key-added"]]) {
      const button = document.createElement("button");
      button.style.cssText = `font:inherit;min-width:76px;height:22px;cursor:pointer;color:inherit;white-space:nowrap;
        background:transparent;border:1px solid var(--mantine-color-default-border,#ccc);border-radius:4px`;
      button.addEventListener("click", () => {
        tell(kind, { time: state.now });
        button.blur(); // else Space, which plays, would press it again
      });
      buttons[name] = button;
      column.append(button);
    }
    svg = document.createElementNS(SVG, "svg");
    svg.style.cssText = "flex:1;min-width:0;height:100%;cursor:default";
    bar.append(column, svg);
    document.body.append(bar);
    svg.addEventListener("pointerdown", press);
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerup", release);
    svg.addEventListener("pointercancel", () => {
      drag = null;
      draw();
    });
    window.addEventListener("resize", place);
  }

  function place() {
    const canvas = document.querySelector("canvas");
    if (!bar || !canvas) return;
    const box = canvas.getBoundingClientRect();
    const wanted = { left: box.left, top: box.bottom - HEIGHT, width: box.width };
    for (const [name, value] of Object.entries(wanted)) {
      const pixels = `${value}px`;
      if (bar.style[name] !== pixels) bar.style[name] = pixels;
    }
    if (svg.clientWidth === drawnWidth) return;
    drawnWidth = svg.clientWidth;
    draw();
  }

  function press(event) {
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    const key = event.target.dataset?.time;
    drag = { x: event.clientX, key: key === undefined ? null : Number(key), moved: false };
    if (drag.key === null) scrub(event, true);
  }

  function move(event) {
    if (!drag) return;
    drag.moved ||= Math.abs(event.clientX - drag.x) >= MOVED;
    if (drag.key === null) scrub(event, false);
    else if (drag.moved) {
      drag.to = toTime(event.clientX);
      draw();
    }
  }

  function release(event) {
    if (!drag) return;
    const { key, moved, to } = drag;
    if (key === null) scrub(event, true);
    drag = null;
    if (key === null) return;
    if (moved && to !== undefined && to !== key) tell("key-moved", { time: key, to });
    else tell("key-chosen", { time: key });
    draw();
  }

  function scrub(event, atOnce) {
    const time = toTime(event.clientX), now = performance.now();
    state.now = time;
    draw();
    if (!atOnce && now - lastScrub < SCRUB_MS) return;
    lastScrub = now;
    tell("scrub", { time });
  }

  function draw() {
    svg.replaceChildren();
    const line = "var(--mantine-color-default-border,#ccc)", ink = "currentColor";
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50].find((s) => (s / span()) * width() >= 46) ?? 100;
    add(svg, "rect", { x: 0, y: 0, width: svg.clientWidth, height: HEIGHT, fill: "transparent" });
    for (let n = 0; n * step <= span() + 1e-9; n++) {
      const x = toX(n * step);
      add(svg, "line", { x1: x, x2: x, y1: RULER, y2: HEIGHT - 4, stroke: line });
      const label = `${+(n * step).toFixed(2)}${n === 0 ? " s" : ""}`;
      add(svg, "text", { x, y: 13, fill: ink, "text-anchor": "middle", "font-size": 11, opacity: 0.7,
        "pointer-events": "none" }, label);
    }
    const rows = [...new Set(state.locks.map((lock) => lock.bone))];
    for (const lock of state.locks) {
      const y = LOCK_Y + (rows.indexOf(lock.bone) % 3) * LOCK_STEP;
      const bar = add(svg, "rect", { x: toX(lock.first), y, width: toX(lock.last) - toX(lock.first),
        height: LOCK_STEP - 2, rx: 3, fill: "#0072b2", opacity: 0.7, "pointer-events": "none" });
      add(bar, "title", {}, lock.bone);
      add(svg, "text", { x: toX(lock.first) + 4, y: y + 8, "font-size": 9, fill: "#fff",
        "pointer-events": "none" }, lock.bone);
    }
    for (const time of state.keys) {
      const shown = drag?.key === time && drag.to !== undefined ? drag.to : time, x = toX(shown);
      const chosen = Math.abs(shown - state.now) < 0.5 * SNAP;
      const key = add(svg, "path", { d: `M${x} ${KEY_Y - 8}l8 8l-8 8l-8 -8z`, "data-time": time,
        fill: chosen ? "#cc50a0" : "#e69f00", stroke: ink, "stroke-width": 1, cursor: "ew-resize" });
      add(key, "title", {}, `key at ${+time.toFixed(3)} s: drag to move`);
    }
    const x = toX(state.now);
    add(svg, "line", { x1: x, x2: x, y1: RULER - 2, y2: HEIGHT - 2, stroke: "#cc50a0", "stroke-width": 2,
      "pointer-events": "none" });
    buttons.play.textContent = state.playing ? "❚❚ pause" : "▶ play";
    buttons.play.title = "Space";
    buttons.loop.textContent = state.loop ? "⟳ loop" : "→ once";
    buttons.key.textContent = "◆ key";
    buttons.key.title = "K: a key of this pose at the playhead";
  }

  // Called by _desk.js again and again.
  window.exactikTimeline = () => {
    const source = document.querySelector("[data-exactik-timeline]");
    if (!source) return;
    if (!bar) build();
    place();
    if (source.dataset.exactikTimeline === text) return;
    text = source.dataset.exactikTimeline;
    const next = JSON.parse(text);
    if (drag && drag.key === null) next.now = state.now; // the pointer has it
    state = next;
    draw();
  };
})();
