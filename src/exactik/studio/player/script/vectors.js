"use strict";
// Vectors of three numbers, and rigid transforms as rows of 3 × 4.
const exactikVectors = {
  sub: (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]],
  dot: (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
  cross: (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
  unit: (a) => { const n = Math.hypot(...a) || 1; return a.map((x) => x / n); },
  // A point p through the transform that begins at T[at].
  apply: (T, at, p) => [0, 4, 8].map((r) => T[at + r] * p[0] + T[at + r + 1] * p[1] + T[at + r + 2] * p[2] + T[at + r + 3]),
  // out[o…] = T[t…] · map[m…]
  multiply: (T, t, map, m, out, o) => {
    for (let r = 0; r < 3; r++) {
      for (let c = 0; c < 4; c++) {
        let sum = c === 3 ? T[t + 4 * r + 3] : 0;
        for (let k = 0; k < 3; k++) sum += T[t + 4 * r + k] * map[m + 4 * k + c];
        out[o + 4 * r + c] = sum;
      }
    }
  },
};
