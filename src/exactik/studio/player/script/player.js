"use strict";
// A figure over time that can be played, turned and stepped through; with its markers and errors.
const exactikPlayer = (() => {
  const { make, button, toggle, choice } = exactikElements;
  const { sub, unit, multiply } = exactikVectors;
  const { project } = exactikCamera;
  const TRAIL_S = 0.5; // [s] of the way behind markers without a figure
  const PLATE_LIFT = 0.002; // [m] of force plates above where they are: the grid is there too
  const COLOURS = {
    light: { edges: 0, ground: [0.965, 0.969, 0.973], grid: [0.45, 0.49, 0.53], measured: [0.12, 0.13, 0.16], model: [0.0, 0.55, 0.4], error: [0.78, 0.16, 0.52], worst: [0.83, 0.1, 0.1], unused: [0.55, 0.58, 0.62], trail: [0.0, 0.45, 0.7], force: [0.69, 0.12, 0.24] },
    dark: { edges: 0.2, ground: [0.086, 0.098, 0.11], grid: [0.5, 0.55, 0.6], measured: [0.93, 0.94, 0.96], model: [0.31, 0.85, 0.66], error: [0.98, 0.45, 0.78], worst: [1.0, 0.36, 0.3], unused: [0.5, 0.53, 0.57], trail: [0.34, 0.71, 0.91], force: [1.0, 0.4, 0.5] },
  };
  const mm = (metres) => (metres < 0.0005 ? "< 1 mm" : `${(1000 * metres).toFixed(0)} mm`); // as places are rounded
  const css = (c, a) => `rgba(${c.map((v) => Math.round(255 * v)).join(",")},${a})`;

  // Fills an element with a player of a scene; the still that is in it stays if that cannot be.
  async function create(host, data) {
    const scene = await exactikScene.decode(data);
    const canvas = make("canvas"), view = make("div", "view"), K = scene.count, M = scene.markers.names.length;
    const gl = exactikGl.create(canvas);
    if (!gl) throw new Error("no WebGL 2");
    const parts = scene.figure ? scene.figure.parts.map(gl.addPart) : [];
    const ghosts = scene.ghosts.map((ghost) => ({ ...ghost, parts: ghost.parts.map(gl.addPart) }));
    const hasSkin = parts.some((part) => part.kind === "skin");
    const bones = scene.figure ? scene.figure.bones.length : 0;
    const surveyed = exactikScene.survey(scene), { radius, worst, worstMarker } = surveyed;
    const hasErrors = worstMarker.some((m) => m >= 0), camera = exactikCamera.create(scene, surveyed, canvas);
    let now = 0, frame = -1, playing = false, look = hasSkin ? "skin" : "sticks", speed = 1;
    const tints = (scene.qualities ?? []).map(([, colour]) => [...colour.map((v) => (v / 255) ** 2.2), 0.9]);
    let byQuality = false, showMarkers = true, showGhosts = true, marked = -1, theme = null;
    const listeners = [];

    // --- drawing

    function isDark() {
      if (theme) return theme === "dark";
      const chosen = document.documentElement.dataset.theme;
      return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    }

    function gridLines(target, colour) {
      const cell = 10 ** Math.floor(Math.log10(radius * 1.2)), numbers = [], n = 14;
      const x0 = Math.round(target[0] / cell), y0 = Math.round(target[1] / cell), z = scene.floor;
      const fade = (i, j) => 0.5 * Math.max(0, 1 - Math.hypot(i, j) / n);
      const vertex = (i, j, strong) => numbers.push((x0 + i) * cell, (y0 + j) * cell, z, ...colour, fade(i, j) * (strong ? 1 : 0.6));
      for (let i = -n; i <= n; i++) {
        for (let j = -n; j < n; j++) {
          vertex(i, j, (x0 + i) % 5 === 0); vertex(i, j + 1, (x0 + i) % 5 === 0);
          vertex(j, i, (y0 + i) % 5 === 0); vertex(j + 1, i, (y0 + i) % 5 === 0);
        }
      }
      return numbers;
    }

    // A line as two triangles of a width in pixels, drawn without a camera.
    function strip(clip, a, b, colour, pixels) {
      const [p, q] = [project(clip, a), project(clip, b)], w = canvas.width / 2, h = canvas.height / 2;
      const along = [(q[0] - p[0]) * w, (q[1] - p[1]) * h], n = Math.hypot(...along) || 1;
      const side = [(-along[1] / n) * (pixels / w), (along[0] / n) * (pixels / h)];
      const corner = (c, s) => [c[0] + s * side[0], c[1] + s * side[1], 0, ...colour, 1];
      return [p, p, q, q, p, q].flatMap((c, i) => corner(c, [0.5, -0.5, 0.5, 0.5, -0.5, -0.5][i]));
    }
    const IDENTITY = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);

    let shown = []; // markers on the screen: name, error, place in pixels
    function draw() {
      const scale = Math.min(window.devicePixelRatio || 1, 2);
      const width = Math.max(2, Math.round(view.clientWidth * scale)), tall = Math.max(2, Math.round(view.clientHeight * scale));
      if (canvas.width !== width || canvas.height !== tall) { canvas.width = width; canvas.height = tall; }
      const colours = isDark() ? COLOURS.dark : COLOURS.light;
      const { clip, back, target } = camera.look(now);
      gl.begin(colours.ground, colours.edges);
      gl.drawLines(gridLines(target, colours.grid), clip);
      const T = bones > 0 ? scene.figure.poseAt(now) : null, all = new Float32Array(16 * scene.matrices);
      const place = (own, pose) => {
        for (const part of own) {
          part.bones.forEach((bone, p) => {
            multiply(pose, 12 * bone, part.maps, 12 * p, all, 16 * (part.base + p));
            if (byQuality && own === parts) all.set(tints[scene.figure.qualityAt(now, bone)], 16 * (part.base + p) + 12);
          });
        }
      };
      const present = showGhosts ? ghosts.filter((ghost) => ghost.present[now]) : [];
      if (T) place(parts, T);
      for (const ghost of present) place(ghost.parts, ghost.poseAt(now));
      if (scene.matrices > 0) gl.setBones(all, scene.matrices);
      if (T) {
        const through = look === "both";
        for (const part of parts) if (part.kind === "sticks" && look !== "skin") gl.drawPart(part, clip, back, 1);
        for (const part of parts) if (part.kind === "skin" && look !== "sticks") gl.drawPart(part, clip, back, through ? 0.4 : 1);
      }
      for (const ghost of present) for (const part of ghost.parts) gl.drawPart(part, clip, back, 0.99);
      drawPlates(clip, colours, scale);
      drawTrails(clip, colours);
      drawMarkers(clip, T, colours, scale);
      drawNames(colours, scale);
      drawStrip(colours, scale);
    }

    // Markers without a figure: the way of their last half second, and their names beside them, of
    // those that would cover each other the nearest.
    const alone = bones === 0 && M > 0, names = make("canvas", "names");
    let showNames = true;
    function drawTrails(clip, colours) {
      const lines = [], from = Math.max(0, now - Math.round((TRAIL_S * scene.rate * K) / scene.length));
      for (let m = 0; alone && m < M; m++) {
        for (let k = now; k > from; k--) {
          const ends = [scene.measuredAt(k, m), scene.measuredAt(k - 1, m)];
          if (ends[0] && ends[1]) ends.forEach((p, i) => lines.push(...p, ...colours.trail, (k - i - from) / (now - from)));
        }
      }
      gl.drawLines(lines, clip);
    }
    function drawNames(colours, scale) {
      if (!alone) return;
      if (names.width !== canvas.width || names.height !== canvas.height) Object.assign(names, { width: canvas.width, height: canvas.height });
      const pen = names.getContext("2d"), taken = [], high = 11 * scale;
      pen.clearRect(0, 0, names.width, names.height);
      Object.assign(pen, { font: `${high}px system-ui, sans-serif`, textAlign: "center", lineJoin: "round", lineWidth: 3 * scale });
      for (const { m, x, y } of showNames ? [...shown].sort((a, b) => a.far - b.far) : []) {
        const text = scene.markers.names[m], half = pen.measureText(text).width / 2;
        const box = [x * scale - half, y * scale - 8 * scale - high, x * scale + half, y * scale - 8 * scale];
        if (m === marked || taken.some((o) => box[0] < o[2] && box[2] > o[0] && box[1] < o[3] && box[3] > o[1])) continue;
        taken.push(box);
        pen.strokeStyle = css(colours.ground, 0.85);
        pen.fillStyle = css(colours.measured, 1);
        pen.strokeText(text, x * scale, box[3]);
        pen.fillText(text, x * scale, box[3]);
      }
    }

    // Surfaces of force plates, and ground reactions as arrows.
    function drawPlates(clip, colours, scale) {
      const faces = [], edges = [], arrows = [];
      for (const { corners, forceAt } of scene.plates) {
        const vertex = (i, alpha) => [corners[i][0], corners[i][1], corners[i][2] + PLATE_LIFT, ...colours.grid, alpha];
        for (const i of [0, 1, 2, 0, 2, 3]) faces.push(...vertex(i, 0.25));
        for (let i = 0; i < 4; i++) edges.push(...vertex(i, 0.9), ...vertex((i + 1) % 4, 0.9));
        const [foot, tip] = forceAt(now);
        if (!foot || !tip) continue;
        arrows.push(...strip(clip, foot, tip, colours.force, 3 * scale));
        const [p, q] = [project(clip, foot), project(clip, tip)], w = canvas.width / 2, h = canvas.height / 2;
        const along = unit([(q[0] - p[0]) * w, (q[1] - p[1]) * h, 0]), head = 10 * scale;
        for (const [ahead, aside] of [[0, 0], [-head, 0.4 * head], [-head, -0.4 * head]]) {
          arrows.push(q[0] + (along[0] * ahead - along[1] * aside) / w, q[1] + (along[1] * ahead + along[0] * aside) / h, 0, ...colours.force, 1);
        }
      }
      gl.gl.depthMask(false);
      gl.drawTriangles(faces, clip);
      gl.drawLines(edges, clip);
      gl.gl.disable(gl.gl.DEPTH_TEST);
      gl.drawTriangles(arrows, IDENTITY);
      gl.gl.enable(gl.gl.DEPTH_TEST);
      gl.gl.depthMask(true);
    }

    function drawMarkers(clip, T, colours, scale) {
      const measured = [], model = [], lines = [];
      shown = [];
      for (let m = 0; m < M && showMarkers; m++) {
        const seen = scene.measuredAt(now, m), own = scene.modelAt(now, m, T);
        const isWorst = hasErrors && m === worstMarker[now], picked = m === marked;
        if (own) model.push(...own, ...colours.model, seen ? 1 : 0.35);
        if (!seen) continue;
        const plain = bones > 0 && scene.markers.bones[m] < 0 ? colours.unused : colours.measured;
        measured.push(...seen, ...(isWorst ? colours.worst : plain), 1);
        if (own) lines.push(...strip(clip, seen, own, isWorst ? colours.worst : colours.error, (isWorst || picked ? 4 : 2.2) * scale));
        const place = project(clip, seen);
        shown.push({ m, far: place[2], error: own ? Math.hypot(...sub(seen, own)) : NaN,
          x: (0.5 + 0.5 * place[0]) * view.clientWidth, y: (0.5 - 0.5 * place[1]) * view.clientHeight });
      }
      const size = camera.pixelsOf(0.044 * radius);
      gl.gl.depthMask(false);
      gl.drawPoints(model, clip, size, 0.45);
      gl.drawPoints(measured, clip, 0.8 * size, 0);
      gl.gl.disable(gl.gl.DEPTH_TEST); // what is inside of the body is seen through it
      gl.drawPoints(model, clip, size, 0.45, 0.35);
      gl.drawPoints(measured, clip, 0.8 * size, 0, 0.3);
      gl.drawTriangles(lines, IDENTITY);
      gl.gl.depthMask(true);
      const point = shown.find((s) => s.m === marked) || shown.find((s) => s.m === worstMarker[now] && hasErrors);
      label.hidden = !point || !showMarkers;
      if (!point) return;
      const error = Number.isNaN(point.error) ? (bones > 0 ? ", not used" : "") : ` ${mm(point.error)}`;
      label.textContent = `${scene.markers.names[point.m]}${error}`;
      const flip = point.x > view.clientWidth - 130;
      label.style.transform = `translate(${Math.round(point.x + (flip ? -10 : 10))}px, ${Math.round(point.y - 24)}px) translateX(${flip ? "-100%" : "0"})`;
    }

    // The worst marker's error over time; a click or a drag goes there.
    const strips = make("div", "strip"), curve = make("canvas");
    function drawStrip(colours, scale) {
      if (!hasErrors || K < 2) return;
      const width = Math.max(2, Math.round(strips.clientWidth * scale)), tall = Math.max(2, Math.round(strips.clientHeight * scale));
      if (curve.width !== width || curve.height !== tall) { curve.width = width; curve.height = tall; }
      const pen = curve.getContext("2d"), sorted = Float32Array.from(worst).sort();
      const top = Math.max(sorted[Math.floor(0.995 * (K - 1))] * 1.6, 1e-6);
      const columns = new Float32Array(width);
      for (let k = 0; k < K; k++) {
        const a = Math.floor((scene.frames[k] / scene.length) * width);
        const b = Math.max(a + 1, Math.ceil((((scene.frames[k + 1] ?? scene.length)) / scene.length) * width));
        for (let x = a; x < b && x < width; x++) columns[x] = Math.max(columns[x], worst[k]);
      }
      pen.clearRect(0, 0, width, tall);
      pen.fillStyle = css(colours.error, 0.55);
      for (let x = 0; x < width; x++) pen.fillRect(x, tall * (1 - Math.min(1, columns[x] / top)), 1, tall);
      pen.fillStyle = css(colours.measured, 1);
      pen.fillRect(((frame + 0.5) / scene.length) * width - scale, 0, 2 * scale, tall);
      strips.dataset.top = `worst marker; top ${mm(top)}`;
    }

    let waiting = false;
    function redraw() {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; draw(); });
    }

    // --- time

    function indexOf(t) {
      let a = 0, b = K - 1;
      while (a < b) {
        const c = (a + b + 1) >> 1;
        if (scene.frames[c] <= t) a = c; else b = c - 1;
      }
      return a + 1 < K && scene.frames[a + 1] - t < t - scene.frames[a] ? a + 1 : a;
    }

    function seek(t, { quiet = false } = {}) {
      t = Math.max(0, Math.min(scene.length - 1, Math.round(t)));
      now = indexOf(t);
      frame = t;
      slider.value = String(t);
      const number = (k) => k + scene.firstNumber; // as the file counts
      const pose = scene.frames[now] === t ? "" : `, pose of frame ${number(scene.frames[now])}`;
      const text = `frame ${number(t)}${pose} · ${(t / scene.rate).toFixed(2)} s`;
      clock.textContent = text;
      slider.setAttribute("aria-valuetext", text);
      redraw();
      if (!quiet) listeners.forEach((listen) => listen(t));
    }

    let started = 0, from = 0;
    function setPlaying(on) {
      playing = on && scene.length > 1;
      play.textContent = playing ? "❚❚" : "▶";
      play.setAttribute("aria-label", playing ? "Pause (space)" : "Play (space)");
      if (!playing) return;
      started = performance.now();
      from = frame >= scene.length - 1 ? 0 : frame;
      requestAnimationFrame(tick);
    }
    function tick(time) {
      if (!playing) return;
      const t = from + ((time - started) / 1000) * scene.rate * speed;
      if (t >= scene.length) { started = time; from = 0; }
      const k = Math.floor(t) % Math.max(scene.length, 1);
      if (k !== frame && k >= 0) seek(k);
      requestAnimationFrame(tick);
    }
    function step(by) {
      setPlaying(false);
      seek(scene.frames[Math.max(0, Math.min(K - 1, now + by))]);
    }

    // --- controls

    const label = make("div", "marker-label"), clock = make("output", "clock"), notes = make("p", "player-notes", scene.notes.join(" · "));
    const slider = make("input");
    Object.assign(slider, { type: "range", min: "0", max: String(scene.length - 1), step: "1" });
    slider.setAttribute("aria-label", "Frame");
    slider.addEventListener("input", () => { setPlaying(false); seek(Number(slider.value)); });
    const play = button("▶", "Play (space)", () => setPlaying(!playing));
    const bar = make("div", "bar"), more = make("div", "bar more");
    bar.append(play, button("‹", "One frame back (←)", () => step(-1)), button("›", "One frame on (→)", () => step(1)), clock);
    if (scene.length > 1) {
      bar.append(choice("Speed", [["1", "× 1"], ["0.5", "× ½"], ["0.25", "× ¼"], ["0.1", "× 0.1"], ["2", "× 2"]], (value) => {
        from = frame; started = performance.now(); speed = Number(value);
      }));
    }
    if (hasSkin) more.append(choice("Look", [["skin", "skin"], ["sticks", "sticks"], ["both", "both"]], (value) => { look = value; redraw(); }));
    more.append(choice("View", [["", "view: free"], ["front", "front"], ["side", "side"], ["top", "top"], ["all", "whole room"]], (value) => {
      camera.follow(value !== "all");
      camera.aim(value);
      redraw();
    }));
    if (tints.length > 0) {
      const legend = make("span", "qualities");
      for (const [name, colour] of scene.qualities) {
        const entry = make("i", "", name);
        entry.style.setProperty("--own", css(colour.map((v) => v / 255), 1));
        legend.append(entry);
      }
      legend.hidden = true;
      more.append(choice("Colours", [["", "colours: own"], ["quality", "colours: quality"]], (value) => {
        byQuality = value !== "";
        legend.hidden = !byQuality;
        redraw();
      }), legend);
    }
    if (M > 0 && bones > 0) more.append(toggle("markers", "Show or hide markers", (on) => { showMarkers = on; redraw(); }));
    if (alone) more.append(toggle("names", "Show or hide the names of markers", (on) => { showNames = on; redraw(); }));
    if (ghosts.length > 0) {
      more.append(toggle(scene.ghosts_name ?? "ghosts", "Show or hide the other figures", (on) => { showGhosts = on; redraw(); }));
    }
    if (hasErrors && K > 1) {
      bar.append(button("worst frame", "Go to the frame of the largest error", () => {
        setPlaying(false);
        seek(scene.frames[worst.reduce((best, v, k) => (v > worst[best] ? k : best), 0)]);
      }));
    }

    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Playback. Space plays, arrow keys step, with Shift they turn the view, plus and minus zoom.");
    canvas.addEventListener("keydown", (event) => {
      const turn = event.shiftKey, key = event.key;
      if (key === " ") setPlaying(!playing);
      else if (key === "ArrowLeft" || key === "ArrowRight") {
        const by = key === "ArrowLeft" ? -1 : 1;
        if (turn) turnBy(0.15 * by, 0); else step(by);
      } else if (turn && (key === "ArrowUp" || key === "ArrowDown")) turnBy(0, key === "ArrowUp" ? 0.1 : -0.1);
      else if (key === "+" || key === "=") zoom(0.85);
      else if (key === "-") zoom(1 / 0.85);
      else if (key === "Home") step(-K);
      else if (key === "End") step(K);
      else return;
      event.preventDefault();
    });
    function turnBy(across, up) { camera.turn(across, up); redraw(); }
    function zoom(by) { camera.zoom(by); redraw(); }
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, y: event.clientY, pan: event.button !== 0 || event.shiftKey, moved: 0 };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held) { point(event, false); return; }
      const dx = event.clientX - held.x, dy = event.clientY - held.y;
      held.moved += Math.abs(dx) + Math.abs(dy);
      held.x = event.clientX; held.y = event.clientY;
      if (held.pan) {
        camera.shift(dx, dy, view.clientHeight);
        redraw();
      } else turnBy(-0.009 * dx, 0.009 * dy);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (held && held.moved < 4) point(event, true);
      held = null;
    });
    canvas.addEventListener("pointercancel", () => { held = null; });
    canvas.addEventListener("pointerleave", () => { if (!held && !pinned) { marked = -1; redraw(); } });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("dblclick", () => { camera.aim(""); redraw(); });
    // The page scrolls over it, unless it was clicked or Ctrl is held.
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      zoom(Math.exp(0.0012 * event.deltaY));
    }, { passive: false });
    // Browsers keep some 16 pictures of all pages: of more, the oldest are lost.
    canvas.addEventListener("webglcontextlost", () => {
      setPlaying(false);
      notes.textContent = "The browser gave this picture up for others; load the page again to see it.";
    });
    let pinned = false;
    function point(event, click) {
      if (pinned && !click) return;
      const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      let best = -1, near = 12;
      for (const s of shown) {
        const far = Math.hypot(s.x - x, s.y - y);
        if (far < near) { near = far; best = s.m; }
      }
      if (click) pinned = best >= 0;
      if (best !== marked) { marked = best; redraw(); }
    }
    const scrub = (event) => {
      const box = strips.getBoundingClientRect();
      setPlaying(false);
      seek(Math.floor((scene.length * (event.clientX - box.left)) / box.width));
    };
    strips.addEventListener("pointerdown", (event) => { strips.setPointerCapture(event.pointerId); scrub(event); });
    strips.addEventListener("pointermove", (event) => { if (event.buttons & 1) scrub(event); });

    view.append(canvas, ...(alone ? [names] : []), label);
    strips.append(curve);
    const still = make("img", "print-still");
    still.alt = `${scene.name} as it was shown`;
    host.replaceChildren(view, still);
    if (hasErrors && K > 1) host.append(strips);
    if (scene.length > 1) host.append(slider, bar);
    more.append(notes);
    host.append(more);
    host.classList.add("ready");
    new ResizeObserver(redraw).observe(view);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    window.addEventListener("beforeprint", () => {
      theme = "light";
      draw();
      still.src = canvas.toDataURL("image/png");
      theme = null;
    });
    window.addEventListener("afterprint", draw);
    seek(scene.first, { quiet: true });
    draw();
    if (scene.plays) setPlaying(true);
    return {
      seek: (t) => { setPlaying(false); seek(t); },
      redraw,
      onFrame: (listen) => listeners.push(listen),
      get frame() { return frame; },
      get pose() { return scene.frames[now]; },
    };
  }
  return { create };
})();
