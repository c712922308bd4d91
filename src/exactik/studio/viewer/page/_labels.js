// Names in the scene: none covers another, and they suit dark pages.
//
// viser puts labels where they are told to be at once, and instances of meshes a few pictures later:
// while markers move, their names would run ahead. So a label may say of which instance it is the
// name, by a place that is too far away to be one (see anchors.py), and is put above that.
//
// viser draws all labels at once. Of each it has a texel (x, y, z, visibility) that is written anew
// for every picture, and a rectangle of its ground; _driver.js calls this after that, before they
// are drawn. A name that would cover another one moves to another side of its point, where it covers
// no other point either, and is hidden if there is room at none. Larger labels come first, then
// those that were seen before, each where it was, so that names do not take turns while a figure
// moves.
(() => {
  const PIXELS = 40; // on the page, of a unit of viser's rectangles at its reference: 0.5 · 800 / 10
  const GAP = 1; // [px] between two labels
  const GROUND = "gl_FragColor = vec4(1.0, 1.0, 1.0, 0.85 * vAlpha)";
  const INK = "gl_FragColor = vec4(0.0, 0.0, 0.0, a)";
  const DARK_GROUND = "gl_FragColor = vec4(0.03, 0.035, 0.045, 0.8 * vAlpha)";
  const DARK_INK = "gl_FragColor = vec4(0.9, 0.92, 0.95, a)";
  const ASIDE = 5; // [px] from a point to a name beside it
  const FAR = 1e7, STEP = 16; // [m] as of anchors.py
  const ABOVE = { "-1": 1.9, "-2": 1.0 }; // of an instance's radius, by the number of its mesh
  let sides = new Map(); // by label, of those that are shown

  function paint(material, dark) {
    if ((material.userData.isDark ?? false) === dark) return;
    material.userData.isDark = dark;
    material.userData.shader ??= material.fragmentShader;
    const light = material.userData.shader;
    material.fragmentShader = dark ? light.replace(GROUND, DARK_GROUND).replace(INK, DARK_INK) : light;
    material.needsUpdate = true;
  }

  // Where labels are on the page [px], and how large their letters are.
  function measure(mesh, camera) {
    const { aLabelIndex, aRect, aParams } = mesh.geometry.attributes;
    const { uLabelData, uViewportHeight } = mesh.material.uniforms;
    const data = uLabelData.value.image.data, height = uViewportHeight.value;
    const view = camera.matrixWorldInverse.elements, lens = camera.projectionMatrix.elements;
    const boxes = [];
    for (let n = 0; n < mesh.geometry.instanceCount; n++) {
      const label = aLabelIndex.array[n], [x, y, z, visible] = data.subarray(4 * label, 4 * label + 4);
      if (visible === 0 || aParams.array[2 * n] < 0.5) continue;
      const along = (k) => view[k] * x + view[k + 4] * y + view[k + 8] * z + view[k + 12];
      const depth = -along(2);
      if (depth <= 0) continue;
      const size = PIXELS * aParams.array[2 * n + 1];
      const middle = [along(0) * lens[0] * camera.aspect, along(1) * lens[5]];
      const [left, bottom] = middle.map((m, a) => (0.5 * height * m) / depth + size * aRect.array[4 * n + a]);
      const [wide, high] = [2, 3].map((a) => size * aRect.array[4 * n + a]);
      const [atX, atY] = middle.map((m) => (0.5 * height * m) / depth);
      const perPixel = [lens[0] * camera.aspect, lens[5]].map((l) => depth / (0.5 * height * l)); // [m]
      boxes.push({ label, size, atX, atY, wide, high, perPixel, left, bottom, right: left + wide, top: bottom + high });
    }
    return boxes;
  }

  // The boxes that a name may have: where viser has it, and around its point.
  function placeAround(box) {
    const { atX, atY, wide, high } = box;
    const corners = [
      [box.left, box.bottom],
      [atX + ASIDE, atY - high / 2],
      [atX - ASIDE - wide, atY - high / 2],
      [atX - wide / 2, atY - ASIDE - high],
      [atX - wide / 2, atY + ASIDE],
    ];
    return corners.map(([left, bottom]) => ({ left, bottom, right: left + wide, top: bottom + high }));
  }

  // Moves a point of the world in the plane of the picture, by pixels.
  function shift(data, box, dx, dy, view) {
    for (let a = 0; a < 3; a++) {
      data[4 * box.label + a] += dx * box.perPixel[0] * view[4 * a] + dy * box.perPixel[1] * view[4 * a + 1];
    }
  }

  function stick(data, drivers) {
    for (let at = 0; at < data.length; at += 4) {
      const code = Math.round((Math.hypot(data[at], data[at + 1], data[at + 2]) - FAR) / STEP);
      if (code < 0) continue;
      const number = -1 - (code % 2), mesh = drivers.get(number), k = code >> 1;
      const own = mesh && k < mesh.instancesCount ? mesh.getMatrixAt(k).elements : null;
      const radius = own ? Math.hypot(own[0], own[1], own[2]) : 0, world = mesh?.matrixWorld.elements;
      if (radius === 0) data[at + 3] = 0; // a missing marker has no size
      else {
        const place = [own[12], own[13], own[14] + ABOVE[number] * radius];
        for (let a = 0; a < 3; a++) {
          data[at + a] = world[12 + a] + world[a] * place[0] + world[4 + a] * place[1] + world[8 + a] * place[2];
        }
      }
    }
  }

  const overlap = (a, b) => a.left < b.right + GAP && b.left < a.right + GAP &&
    a.bottom < b.top + GAP && b.bottom < a.top + GAP;

  const covers = (box, { atX, atY }) => box.left < atX && atX < box.right && box.bottom < atY && atY < box.top;

  function spread(mesh, camera) {
    const data = mesh.material.uniforms.uLabelData.value.image.data, kept = [], chosen = new Map();
    const boxes = measure(mesh, camera), view = camera.matrixWorldInverse.elements;
    const isNew = (box) => (sides.has(box.label) ? 0 : 1);
    boxes.sort((a, b) => b.size - a.size || isNew(a) - isNew(b) || a.label - b.label);
    for (const box of boxes) {
      const places = placeAround(box), before = sides.get(box.label) ?? 0;
      const isFree = (k) => !kept.some((other) => overlap(places[k], other)) &&
        (k === 0 || !boxes.some((other) => other !== box && covers(places[k], other)));
      const side = [before, ...places.keys()].find(isFree);
      if (side === undefined) {
        data[4 * box.label + 3] = 0;
        continue;
      }
      kept.push(places[side]);
      chosen.set(box.label, side);
      shift(data, box, places[side].left - box.left, places[side].bottom - box.bottom, view);
    }
    sides = chosen;
  }

  window.exactikLabels = (mesh, camera, drivers) => {
    const { uLabelData, uAtlas } = mesh.material.uniforms;
    stick(uLabelData.value.image.data, drivers);
    paint(mesh.material, document.documentElement.dataset.mantineColorScheme === "dark");
    if (uAtlas || mesh.material.depthTest || !camera.isPerspectiveCamera) return; // letters; unused
    spread(mesh, camera);
    uLabelData.value.needsUpdate = true;
  };
})();
