"use strict";
// What the page shows without this script stays; it adds the playback, a cursor, zoom and a choice
// of joints. The frame of the playback is a line in all curves.
(() => {
  const D = JSON.parse(document.getElementById("data").textContent);
  const T = D.frames, NONE = 65535, FEW = 60;
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const words = (text) => new Uint16Array(bytes(text).buffer);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, name, text) => {
    const node = document.createElement(tag);
    node.className = name || "";
    if (text !== undefined) node.textContent = text;
    return node;
  };

  const series = {};
  for (const [name, s] of Object.entries(D.series)) {
    series[name] = { ...s, data: s.bits === 8 ? bytes(s.data) : words(s.data) };
  }
  const heat = D.heat && { bins: D.heat.bins, rows: D.markers.length, level: bytes(D.heat.data),
    most: D.heat.most, palette: bytes(D.heat.palette) };
  const value = (name, t) => {
    const v = series[name].data[t];
    return v === NONE ? NaN : v * series[name].scale;
  };
  let view = [0, T], cursor = -1, now = D.player.first, player = null;

  // --- drawing what is in view

  // Calls with the first and last sample of every pixel column.
  function columns(count, width, each) {
    const per = count / T;
    const first = Math.max(0, Math.floor(view[0] * per) - 1);
    const end = Math.min(count, Math.ceil(view[1] * per) + 1);
    const step = Math.max(1, (end - first) / Math.max(width, 100));
    for (let at = first; at < end; at += step) {
      const a = Math.floor(at), b = Math.min(end, Math.max(a + 1, Math.floor(at + step)));
      each(a, b, (a + b) / 2 / per);
    }
  }

  function drawSeries(path) {
    const name = path.dataset.series, top = Number(path.dataset.top);
    const s = series[name], area = path.classList.contains("area"), parts = [];
    let open = false, x0 = 0;
    columns(T, path.ownerSVGElement.clientWidth, (a, b, x) => {
      let most = -1;
      for (let t = a; t < b; t++) if (s.data[t] !== NONE && s.data[t] > most) most = s.data[t];
      if (most < 0) {
        if (open && area) parts.push(`L${x0},100Z`);
        open = false;
        return;
      }
      const y = Math.max(-20, 100 * (1 - (most * s.scale) / top)).toFixed(2);
      const [left, right] = T <= FEW ? [a, b] : [x, x]; // of a few frames each is as wide as it takes
      if (!open) parts.push(area ? `M${left},100L${left},${y}` : `M${left},${y}h.5`);
      else parts.push(`L${left},${y}`);
      if (right > left) parts.push(`L${right},${y}`);
      open = true;
      x0 = right;
    });
    if (open && area) parts.push(`L${x0},100Z`);
    path.setAttribute("d", parts.join(""));
  }

  const heatSvg = document.getElementById("heat");
  const canvas = make("canvas");
  function drawHeat() {
    if (!heatSvg) return; // no marker is ever seen
    const width = Math.max(100, Math.round(heatSvg.clientWidth * (window.devicePixelRatio || 1)));
    canvas.width = width;
    canvas.height = heat.rows;
    const context = canvas.getContext("2d"), image = context.createImageData(width, heat.rows);
    const per = heat.bins / T, span = view[1] - view[0];
    for (let x = 0; x < width; x++) {
      const a = Math.floor((view[0] + (span * x) / width) * per);
      const b = Math.max(a + 1, Math.floor((view[0] + (span * (x + 1)) / width) * per));
      for (let m = 0; m < heat.rows; m++) {
        let most = 0;
        for (let k = a; k < b && k < heat.bins; k++) {
          most = Math.max(most, heat.level[k * heat.rows + m]);
        }
        const at = 4 * (m * width + x);
        for (let i = 0; i < 3; i++) image.data[at + i] = heat.palette[3 * most + i];
        image.data[at + 3] = most > 0 ? 255 : 0;
      }
    }
    context.putImageData(image, 0, 0);
  }

  const decoded = new Map();
  function joint(n) {
    if (!decoded.has(n)) {
      decoded.set(n, D.angles.joints[n].dofs.map((d) => {
        const a = words(d.a);
        return { ...d, a, b: d.b ? words(d.b) : a, sd: bytes(d.sd) };
      }));
    }
    return decoded.get(n);
  }

  function drawJoint(svg) {
    const n = Number(svg.dataset.joint), marks = D.angles.joints[n].marks, [bottom, top] = [marks[0], marks[marks.length - 1]];
    const height = (v) => Math.max(-50, Math.min(150, (100 * (top - v)) / (top - bottom))).toFixed(2);
    const unknown = new Map(); // columns of which nothing is known: their edges and of how many curves
    joint(n).forEach((d, k) => {
      const line = [], bands = [];
      let above = [], below = [];
      const close = () => {
        if (above.length > 0) bands.push(`M${above.concat(below.reverse()).join("L")}Z`);
        above = [];
        below = [];
      };
      columns(D.angles.bins, svg.clientWidth, (i, j, x) => {
        let low = NONE, high = 0, sd = 0;
        for (let t = i; t < j; t++) {
          low = Math.min(low, d.a[t]);
          high = Math.max(high, d.b[t]);
          sd = Math.max(sd, d.sd[t]);
        }
        const wide = D.angles.within * d.wide * (sd / 255) ** 2;
        const l = d.low + d.step * low, h = d.low + d.step * high;
        line.push(`${x},${height(l)}`);
        if (high > low) line.push(`${x},${height(h)}`);
        if (wide > top - bottom) { // the band would fill the chart
          close();
          const per = T / D.angles.bins, seen = unknown.get(i) || { a: i * per, b: j * per, curves: 0 };
          seen.curves += 1;
          unknown.set(i, seen);
          return;
        }
        above.push(`${x},${height(h + wide)}`);
        below.push(`${x},${height(l - wide)}`);
      });
      close();
      svg.querySelectorAll(".band")[k].setAttribute("d", bands.join(""));
      svg.querySelectorAll(".line")[k].setAttribute("d", `M${line.join("L")}h.5`);
    });
    const guess = [...unknown.values()].filter((u) => u.curves === joint(n).length);
    svg.lastElementChild.setAttribute("d", guess.map((u) => `M${u.a},0H${u.b}V100H${u.a}Z`).join(""));
  }

  function drawAxis(axis) {
    const span = (view[1] - view[0]) / D.rate;
    const raw = span / Math.max(3, Math.min(14, axis.clientWidth / 75));
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((s) => s * power >= 0.999 * raw);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    axis.replaceChildren();
    for (let n = Math.ceil(view[0] / D.rate / step - 1e-9); n * step * D.rate < view[1]; n++) {
      const at = (100 * (n * step * D.rate + 0.5 - view[0])) / (view[1] - view[0]);
      const mark = make("span", "", (n * step).toFixed(digits));
      mark.style.left = `${at}%`;
      if (at > 1) mark.style.transform = "translateX(-50%)";
      axis.append(mark);
    }
  }

  let waiting = false;
  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      drawAll();
    });
  }

  function drawAll() {
    for (const svg of all("svg.plot")) {
      const box = svg.viewBox.baseVal;
      svg.setAttribute("viewBox", `${view[0]} 0 ${view[1] - view[0]} ${box.height}`);
    }
    all("path[data-series]").forEach(drawSeries);
    all("svg[data-joint]").forEach(drawJoint);
    drawHeat();
    all(".axis").forEach(drawAxis);
    drawCursor();
  }

  function zoom(a, b) {
    const least = Math.min(T, 20);
    const span = Math.min(T, Math.max(least, b - a)), middle = (a + b) / 2;
    const start = Math.max(0, Math.min(T - span, middle - span / 2));
    view = [start, start + span];
    draw();
  }

  // --- cursor

  const readout = document.getElementById("readout");
  function lineOf(svg, name) {
    const found = svg.parentNode.querySelector(`:scope > .${name}`);
    if (found) return found;
    const line = make("div", name);
    svg.parentNode.append(line);
    return line;
  }
  function drawCursor() {
    for (const [name, frame] of [["cursor", cursor], ["now", now]]) {
      const inside = frame >= 0 && frame + 0.5 >= view[0] && frame + 0.5 <= view[1];
      const left = `${(100 * (frame + 0.5 - view[0])) / (view[1] - view[0])}%`;
      for (const svg of all("svg.plot")) {
        const line = lineOf(svg, name);
        line.hidden = !inside;
        line.style.left = left;
      }
    }
  }

  const mm = (v) => (Number.isNaN(v) ? "none" : `${v < 9.95 ? v.toFixed(1) : v.toFixed(0)} mm`);
  function describe(t) {
    if (D.readout) { // of a page that is about something else than markers
      const shown = D.readout.map((r) => ({ ...r, now: value(r.series, t) })).filter((r) => !Number.isNaN(r.now));
      return shown.map((r) => `${r.name} ${r.now.toFixed(r.digits)}${r.unit === "°" ? "" : " "}${r.unit}`);
    }
    const parts = [series.status.words[series.status.data[t]],
      `mean ${mm(value("mean", t))}`, `worst ${mm(value("most", t))}`];
    const gone = value("missing", t);
    if (gone > 0) parts.push(`${gone} missing`);
    return parts;
  }
  function tell(t, extra) {
    const parts = [`frame ${t + (D.offset || 0)}`, `${(t / D.rate).toFixed(2)} s`, ...describe(t)];
    if (extra) parts.push(extra);
    readout.textContent = parts.join("  ·  ");
    readout.hidden = false;
  }

  function markerUnder(event, t) {
    const box = heatSvg.getBoundingClientRect();
    const m = Math.floor((heat.rows * (event.clientY - box.top)) / box.height);
    if (m < 0 || m >= heat.rows) return "";
    const level = heat.level[Math.floor((t * heat.bins) / T) * heat.rows + m];
    const error = level > 0 ? mm(heat.most * ((level - 1) / 254) ** 2) : "missing";
    return `${D.markers[m]} ${error}`;
  }

  function frameAt(svg, event) {
    const box = svg.getBoundingClientRect();
    const x = view[0] + ((view[1] - view[0]) * (event.clientX - box.left)) / box.width;
    return Math.max(0, Math.min(T - 1, Math.floor(x)));
  }

  function valuesUnder(svg, t) {
    if (svg.dataset.joint === undefined) return "";
    const n = Number(svg.dataset.joint), k = Math.floor((t * D.angles.bins) / T);
    const unit = D.angles.joints[n].unit, digits = unit === "m" ? 3 : 1;
    return joint(n).map((d) => {
      const wide = D.angles.within * d.wide * (d.sd[k] / 255) ** 2;
      return `${d.name || D.angles.joints[n].name} ${(d.low + d.step * d.a[k]).toFixed(digits)} ± ${wide.toFixed(digits)} ${unit}`;
    }).join(", ");
  }

  let from = null, band = null;
  document.addEventListener("pointermove", (event) => {
    const svg = event.target.closest ? event.target.closest("svg.plot") : null;
    if (from) {
      const box = from.svg.getBoundingClientRect();
      const a = Math.min(from.x, event.clientX) - box.left, b = Math.abs(event.clientX - from.x);
      band.style.left = `${a}px`;
      band.style.width = `${b}px`;
    }
    if (!svg) return;
    cursor = frameAt(svg, event);
    drawCursor();
    tell(cursor, svg === heatSvg ? markerUnder(event, cursor) : valuesUnder(svg, cursor));
  });
  document.addEventListener("pointerdown", (event) => {
    const svg = event.target.closest ? event.target.closest("svg.plot") : null;
    if (!svg || event.button !== 0 || event.pointerType === "touch") return;
    from = { svg, x: event.clientX, t: frameAt(svg, event) };
    band = make("div", "select");
    svg.parentNode.append(band);
  });
  document.addEventListener("pointerup", (event) => {
    if (!from) return;
    const t = frameAt(from.svg, event);
    if (Math.abs(event.clientX - from.x) > 6) zoom(Math.min(t, from.t), Math.max(t, from.t) + 1);
    else goTo(t);
    band.remove();
    from = null;
  });
  document.addEventListener("dblclick", (event) => {
    if (event.target.closest("svg.plot")) zoom(0, T);
  });
  document.addEventListener("pointerout", (event) => {
    const svg = event.target.closest ? event.target.closest("svg.plot") : null;
    if (!svg || (event.relatedTarget && svg.contains(event.relatedTarget))) return;
    cursor = -1;
    readout.hidden = true;
    drawCursor();
  });

  // --- playback

  const aside = document.querySelector("aside.playback"), dock = make("div", "dock");
  function goTo(t) {
    now = t;
    if (player) player.seek(t);
    drawCursor();
    float();
  }
  const facts = make("p", "frame-facts");
  function follow(t) {
    now = t;
    facts.textContent = describe(t).join(" · ");
    if (t < view[0] || t >= view[1]) zoom(t, t + view[1] - view[0]);
    drawCursor();
  }
  // On narrow screens it floats over the page once a reader has sent it somewhere and most of its
  // picture is out of view.
  function float() {
    const box = aside.getBoundingClientRect();
    const seen = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0), away = seen < 0.6 * Math.min(box.height, innerHeight);
    const floats = away && matchMedia("(max-width: 1119px)").matches;
    aside.style.minHeight = floats ? `${aside.offsetHeight}px` : ""; // so that the page stays in its place
    dock.classList.toggle("floating", floats);
    if (player) player.redraw();
  }
  const host = document.getElementById("player");
  exactikPlayer.create(host, D.player).then((made) => {
    player = made;
    player.onFrame(follow);
    const close = make("button", "close", "×");
    close.type = "button";
    close.setAttribute("aria-label", "Put the playback back");
    close.addEventListener("click", () => { dock.classList.remove("floating"); player.redraw(); });
    aside.append(dock);
    dock.append(close, host);
    host.querySelector(".view").after(facts);
    follow(now);
    const back = () => { if (dock.classList.contains("floating")) float(); };
    new IntersectionObserver(back, { threshold: [0, 0.3, 0.6, 0.9] }).observe(aside);
    document.documentElement.dataset.player = "ready";
    player.redraw();
  }).catch((error) => {
    document.documentElement.dataset.player = "none";
    host.append(make("p", "player-notes", `This browser shows no playback: ${error.message}.`));
  });

  // --- buttons and links

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button"), link = event.target.closest("a[data-frame]");
    if (button && button.dataset.zoom) {
      const middle = (view[0] + view[1]) / 2, half = (view[1] - view[0]) / 2;
      const by = { in: half / 2, out: half * 2, all: T }[button.dataset.zoom];
      zoom(middle - by, middle + by);
    }
    if (button && button.dataset.joint) {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      charts();
    }
    if (button && button.dataset.do === "print") window.print();
    if (button && button.dataset.do === "theme") {
      const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)").matches;
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : system;
      root.dataset.theme = dark ? "light" : "dark";
      if (player) player.redraw();
    }
    const row = event.target.closest("table.stretches tbody tr");
    const place = link || (row && row.querySelector("a[data-first]"));
    if (place) {
      const first = Number(place.dataset.first), last = Number(place.dataset.last);
      const room = Math.max(D.rate / 2, last - first + 1);
      all("tr.chosen").forEach((node) => node.classList.remove("chosen"));
      if (place.closest("tr")) place.closest("tr").classList.add("chosen");
      if (player) event.preventDefault(); // its frame is seen beside the link: the page stays
      zoom(first - room, last + 1 + room);
      goTo(Number(place.dataset.frame));
    }
  });

  function charts() {
    for (const group of all(".chart-group")) {
      const place = group.querySelector(".charts");
      place.replaceChildren();
      for (const button of all("button[data-joint]", group)) {
        const on = button.getAttribute("aria-pressed") === "true";
        if (on) place.append(chart(Number(button.dataset.joint)));
      }
    }
    draw();
  }

  function chart(n) {
    const { name, unit, dofs, marks, ends } = D.angles.joints[n], bottom = marks[0], span = marks[marks.length - 1] - bottom;
    const figure = make("figure", "joint"), title = make("h4", "", `${name} `), key = make("span");
    title.append(make("small", "", unit), key);
    dofs.forEach((d, k) => key.append(make("i", `c${k % 6}`, d.name)));
    const row = make("div", "row curve"), left = make("div", "side left"), pane = make("div", "pane");
    row.style.height = "120px";
    const space = document.querySelector("svg.plot").namespaceURI, svg = document.createElementNS(space, "svg");
    const settings = { class: "plot", role: "img", "aria-label": name,
      viewBox: `0 0 ${T} 100`, preserveAspectRatio: "none", "data-joint": n };
    for (const [key, setting] of Object.entries(settings)) svg.setAttribute(key, setting);
    const digits = Math.max(0, Math.ceil(-Math.log10(marks[1] - bottom) - 1e-9));
    for (const mark of marks) {
      const at = 100 - (100 * (mark - bottom)) / span, isZero = Math.abs(mark) < 1e-6 * span;
      const tick = make("span", "tick", (isZero ? 0 : mark).toFixed(digits).replace("-", "−"));
      tick.style.top = `${at}%`;
      left.append(tick);
      const line = document.createElementNS(space, "path");
      line.setAttribute("class", isZero ? "grid zero" : "grid");
      line.setAttribute("d", `M0,${at}H${T}`);
      svg.append(line);
    }
    dofs.forEach((d, k) => {
      for (const kind of ["band", "line"]) {
        const path = document.createElementNS(space, "path");
        path.setAttribute("class", `${kind} c${k % 6}`);
        svg.append(path);
      }
    });
    const guess = document.createElementNS(space, "path");
    guess.setAttribute("class", "guess");
    svg.append(guess);
    pane.append(svg);
    if (ends[1]) pane.append(make("em", "end", ends[1]), make("em", "end low", ends[0]));
    row.append(left, pane);
    const time = make("div", "row time"), axis = make("div", "pane");
    axis.append(make("div", "axis"));
    time.append(make("div", "side left", "s"), axis);
    figure.append(title, row, time);
    return figure;
  }

  if (heatSvg) {
    heatSvg.parentNode.append(canvas);
    heatSvg.querySelector("image").remove();
  }
  all(".tools, .chips").forEach((node) => { node.hidden = false; });
  window.addEventListener("resize", draw);
  // Rows that fold out are printed; curves that fold out are many, and stay.
  window.addEventListener("beforeprint", () => all("details").forEach((node) => {
    if (node.querySelector("table")) node.open = true;
  }));
  document.addEventListener("toggle", draw, true); // what was folded had no width
  charts();
  drawAll();
})();
