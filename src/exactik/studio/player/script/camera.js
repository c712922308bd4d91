"use strict";
// The camera of a player: it goes along with the figure, and stands as near as all can be seen from.
const exactikCamera = (() => {
  const { sub, dot, cross, unit, apply } = exactikVectors;
  const VIEW_TANGENT = Math.tan(0.3); // of half the angle of view
  const OUTLINES = 150; // frames that tell what is to be in view
  const MARGIN = 0.04; // of the view, on each side, that stays empty
  const FREE = [-0.9, 0.2], SIDE = -Math.PI / 2;
  // Azimuth against the heading, and elevation [rad].
  const VIEWS = { "": FREE, all: FREE, front: [0, 0.03], side: [SIDE, 0.03], top: [SIDE, Math.PI / 2 - 0.001] };

  // Where a camera that follows looks at: means over half a second on both sides, at one height; but
  // never so far from the figure that it leaves the view.
  function smooth(scene, centres, radius) {
    const height = centres.reduce((sum, c) => sum + c[2], 0) / scene.count;
    const half = Math.max(1, Math.round((0.5 * scene.rate * scene.count) / Math.max(scene.length, 1)));
    return centres.map((centre, k) => {
      const near = centres.slice(Math.max(0, k - half), k + half + 1);
      const mean = [0, 1].map((a) => near.reduce((sum, c) => sum + c[a], 0) / near.length).concat(height);
      const lag = sub(mean, centre), share = Math.min(1, (0.25 * radius) / (Math.hypot(...lag) || 1));
      return centre.map((v, a) => v + share * lag[a]);
    });
  }

  // What is to be in view at frame k: corners of what the bones carry, ghosts, markers alone.
  function outline(scene, k) {
    const points = [];
    const add = (figure) => {
      const T = figure.poseAt(k);
      figure.bones.forEach((_, b) => points.push([T[12 * b + 3], T[12 * b + 7], T[12 * b + 11]]));
      figure.boxes.forEach((box, b) => {
        for (let c = 0; c < 8 && box.length > 0; c++) {
          points.push(apply(T, 12 * b, [0, 1, 2].map((a) => box[a + (c & (1 << a) ? 3 : 0)])));
        }
      });
    };
    if (scene.figure) add(scene.figure);
    else points.push(...scene.markers.names.map((_, m) => scene.measuredAt(k, m)).filter((seen) => seen));
    for (const ghost of scene.ghosts) if (ghost.present[k]) add(ghost);
    return points;
  }

  // Takes what `exactikScene.survey` found of a scene, and the canvas that is drawn into.
  function create(scene, { centres, radius }, canvas) {
    const K = scene.count, followed = smooth(scene, centres, radius);
    const middle = scene.low.map((v, a) => (v + scene.high[a]) / 2);
    const travel = sub(centres[K - 1], centres[0]);
    const heading = Math.hypot(travel[0], travel[1]) > radius ? Math.atan2(travel[1], travel[0]) : 0;
    const outlines = new Map();
    for (let k = 0; k < K; k += Math.ceil(K / OUTLINES)) outlines.set(k, outline(scene, k));
    let azimuth, elevation, distance, pan, follow = true;
    let fitted = ""; // the size of the view that it was fitted to; null after somebody has moved it

    function aim(view) {
      azimuth = heading + VIEWS[view][0];
      elevation = VIEWS[view][1];
      pan = [0, 0, 0];
      fitted = "";
    }
    aim("");

    function axes() {
      const back = [Math.cos(elevation) * Math.cos(azimuth), Math.cos(elevation) * Math.sin(azimuth), Math.sin(elevation)];
      const right = unit([-Math.sin(azimuth), Math.cos(azimuth), 0]);
      return { back, right, up: cross(back, right) };
    }
    // Of the width and the height of the view; it is as high as wide at least.
    const slopes = () => {
      const aspect = canvas.width / canvas.height, tall = VIEW_TANGENT / Math.min(1, aspect);
      return [tall * aspect, tall];
    };

    // The nearest camera that sees all that is shown, of a view that nobody has moved: a point p is
    // inside if p_x - c_x <= s (c_z - p_z) and so on, which is linear in the place c of the camera.
    function fit() {
      const shape = `${canvas.width} ${canvas.height}`;
      if (fitted === null || fitted === shape) return;
      fitted = shape;
      const { back, right, up } = axes(), [wide, tall] = slopes().map((s) => s * (1 - 2 * MARGIN));
      const most = [-Infinity, -Infinity, -Infinity, -Infinity];
      outlines.forEach((points, k) => {
        const origin = follow ? followed[k] : middle;
        for (const p of points) {
          const q = sub(p, origin), x = dot(q, right), y = dot(q, up), z = dot(q, back);
          [wide * z + x, wide * z - x, tall * z + y, tall * z - y].forEach((v, i) => { if (v > most[i]) most[i] = v; });
        }
      });
      if (!Number.isFinite(most[0])) most.fill(radius * wide);
      distance = Math.max((most[0] + most[1]) / (2 * wide), (most[2] + most[3]) / (2 * tall), radius);
      const across = (most[0] - most[1]) / 2, above = (most[2] - most[3]) / 2;
      pan = right.map((v, a) => across * v + above * up[a]);
    }

    // The view at frame k: a matrix from places to the screen, the way to the eye, what it looks at.
    function look(k) {
      fit();
      const target = (follow ? followed[k] : middle).map((v, a) => v + pan[a]);
      const lowest = (scene.floor - target[2]) / distance + 0.02; // the eye stays above the floor
      elevation = Math.max(elevation, Math.asin(Math.max(-1, Math.min(lowest, 0.9))));
      const { back, right, up } = axes(), [wide, tall] = slopes();
      const eye = target.map((v, a) => v + distance * back[a]);
      const near = distance / 50, far = distance + 60 * radius;
      const d = (far + near) / (near - far), e = (2 * far * near) / (near - far);
      const rows = [right.map((v) => v / wide).concat(-dot(right, eye) / wide),
        up.map((v) => v / tall).concat(-dot(up, eye) / tall),
        back.map((v) => d * v).concat(-d * dot(back, eye) + e),
        back.map((v) => -v).concat(dot(back, eye))];
      const clip = new Float32Array(16);
      rows.forEach((row, i) => row.forEach((v, j) => { clip[4 * j + i] = v; }));
      return { clip, back, target };
    }

    return {
      aim,
      look,
      follow: (on) => { follow = on; },
      turn: (across, up) => {
        fitted = null;
        azimuth += across;
        if (up !== 0) elevation = Math.max(-1.5, Math.min(1.5, elevation + up));
      },
      zoom: (by) => {
        fitted = null;
        distance = Math.max(0.3 * radius, Math.min(60 * radius, distance * by));
      },
      // By pixels of a view of so many.
      shift: (dx, dy, height) => {
        fitted = null;
        const { right, up } = axes(), size = (2 * distance * VIEW_TANGENT) / height;
        pan = pan.map((v, a) => v + size * (-dx * right[a] + dy * up[a]));
      },
      // Pixels of the canvas that a length [m] has at a distance of 1 m.
      pixelsOf: (length) => (0.5 * length * canvas.height) / VIEW_TANGENT,
    };
  }

  // Where a point is on the screen: x and y from -1 to 1, and its depth.
  const project = (clip, p) => {
    const out = [0, 1, 3].map((i) => clip[i] * p[0] + clip[4 + i] * p[1] + clip[8 + i] * p[2] + clip[12 + i]);
    return [out[0] / out[2], out[1] / out[2], out[2]];
  };
  return { create, project };
})();
