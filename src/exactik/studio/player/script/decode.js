"use strict";
// What a scene's data holds: arrays out of the block, poses and places frame by frame.
const exactikScene = (() => {
  const { sub, apply } = exactikVectors;
  const VIEWS = { u8: Uint8Array, i8: Int8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array };

  async function inflate(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer();
  }

  function sumUp(differences) {
    const sums = new differences.constructor(differences.length);
    let sum = 0;
    for (let k = 0; k < sums.length; k++) sums[k] = sum = (sum + differences[k]) | 0;
    return sums;
  }

  // Differences modulo 2¹⁶ of each column, low bytes and then high bytes.
  function unfold(bytes, rows, asSigned) {
    const count = bytes.length / 2, columns = rows > 0 ? count / rows : 0;
    const values = asSigned ? new Int16Array(count) : new Uint16Array(count);
    for (let c = 0; c < columns; c++) {
      let sum = 0;
      for (let t = 0; t < rows; t++) {
        const folded = bytes[c * rows + t] | (bytes[count + c * rows + t] << 8);
        sum = (sum + ((folded >>> 1) ^ -(folded & 1))) & 65535;
        values[t * columns + c] = sum;
      }
    }
    return values;
  }

  async function decode(data) {
    const buffer = await inflate(data.block);
    const read = ({ type, at, count }) => new VIEWS[type](buffer, at, count);
    const frames = sumUp(read(data.frames)), K = frames.length;
    const scene = { ...data, frames, count: K };
    const places = (entry) => ({ places: unfold(read(entry.places), K, false), seen: read(entry.seen) });
    const M = data.markers.names.length;
    scene.measured = places(data.markers.measured);
    scene.model = data.markers.model ? places(data.markers.model) : null;
    const at = (set, k, m, count = M) => {
      if (!set.seen[m * K + k]) return null;
      const i = 3 * (k * count + m);
      return [0, 1, 2].map((a) => data.low[a] + data.step * set.places[i + a]);
    };
    scene.measuredAt = (k, m) => at(scene.measured, k, m);
    scene.plates = (data.plates ?? []).map((plate) => {
      const ends = places(plate.ends);
      return { corners: plate.corners, forceAt: (k) => [0, 1].map((end) => at(ends, k, end, 2)) };
    });
    scene.matrices = 0;
    async function readFigure(f) {
      const B = f.bones.length, parts = [];
      const rotations = unfold(read(f.rotations), K, true), free = unfold(read(f.places), K, false);
      const slot = new Map(f.free.map((bone, n) => [bone, n]));
      // Rows of T_world_bone of every bone: (B, 3, 4).
      const poseAt = (k) => {
        const T = new Float32Array(12 * B);
        for (let b = 0; b < B; b++) {
          let [w, x, y, z] = rotations.subarray(4 * (k * B + b), 4 * (k * B + b) + 4);
          const n = 1 / (Math.hypot(w, x, y, z) || 1);
          w *= n; x *= n; y *= n; z *= n;
          T.set([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 0,
            2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 0,
            2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), 0], 12 * b);
          const p = 12 * f.parents[b], o = f.offsets[b];
          for (let a = 0; a < 3; a++) {
            T[12 * b + 4 * a + 3] = slot.has(b)
              ? data.low[a] + data.step * free[3 * (k * f.free.length + slot.get(b)) + a]
              : T[p + 4 * a] * o[0] + T[p + 4 * a + 1] * o[1] + T[p + 4 * a + 2] * o[2] + T[p + 4 * a + 3];
          }
        }
        return T;
      };
      for (const part of f.parts) {
        const decoded = { ...part, base: scene.matrices };
        for (const key of ["maps", "vertices", "normals", "joints", "colours", "weights", "uv"]) {
          if (part[key]) decoded[key] = read(part[key]);
        }
        decoded.faces = new Uint32Array(sumUp(new Int32Array(read(part.faces))));
        if (part.image) {
          const bytes = Uint8Array.from(atob(part.image.data), (c) => c.charCodeAt(0));
          try {
            decoded.bitmap = await createImageBitmap(new Blob([bytes], { type: part.image.type }));
            decoded.wrap = part.image.wrap;
          } catch { /* an image that the browser cannot read: the colour alone is shown */ }
        }
        scene.matrices += part.bones.length;
        parts.push(decoded);
      }
      const quality = f.quality ? read(f.quality) : null;
      return { ...f, poseAt, parts, present: f.present ? read(f.present) : null,
        qualityAt: quality && ((k, b) => quality[b * K + k]) };
    }
    if (data.figure) scene.figure = await readFigure(data.figure);
    scene.ghosts = [];
    for (const ghost of data.ghosts) scene.ghosts.push(await readFigure(ghost));
    scene.modelAt = (k, m, T) => {
      if (scene.model) return at(scene.model, k, m);
      const b = data.markers.bones[m];
      if (!T || b < 0) return null;
      return apply(T, 12 * b, data.markers.points[m]);
    };
    return scene;
  }

  // Over all frames: the middle of what is seen, its radius [m], the largest error [m] and whose it
  // is, -1 where there is none.
  function survey(scene) {
    const K = scene.count, M = scene.markers.names.length, bones = scene.figure ? scene.figure.bones.length : 0;
    const centres = [], radii = [], worst = new Float32Array(K), worstMarker = new Int32Array(K).fill(-1);
    const middle = scene.low.map((v, a) => (v + scene.high[a]) / 2);
    for (let k = 0; k < K; k++) {
      const T = bones > 0 ? scene.figure.poseAt(k) : null, points = [];
      for (let b = 0; b < bones; b++) points.push([T[12 * b + 3], T[12 * b + 7], T[12 * b + 11]]);
      for (let m = 0; m < M; m++) {
        const seen = scene.measuredAt(k, m);
        if (seen && bones === 0) points.push(seen);
        const own = seen && scene.modelAt(k, m, T);
        if (!own) continue;
        const error = Math.hypot(...sub(seen, own));
        if (error > worst[k]) { worst[k] = error; worstMarker[k] = m; }
      }
      if (points.length === 0) { centres.push(centres[k - 1] || middle); continue; }
      const lows = [0, 1, 2].map((a) => Math.min(...points.map((p) => p[a])));
      const highs = [0, 1, 2].map((a) => Math.max(...points.map((p) => p[a])));
      centres.push(lows.map((v, a) => (v + highs[a]) / 2));
      radii.push(0.5 * Math.hypot(...sub(highs, lows)));
    }
    radii.sort((a, b) => a - b);
    const margin = bones > 0 ? scene.figure.margin : 0;
    const radius = Math.max((radii[Math.floor(0.9 * radii.length)] || (bones > 0 ? 0 : 1)) + 0.7 * margin, 1e-3);
    return { centres, radius, worst, worstMarker };
  }
  return { decode, survey };
})();
