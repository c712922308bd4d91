"use strict";
// Drawing of a player: triangles that bones carry, points, lines and a floor, by WebGL 2.
const exactikGl = (() => {
  const SURFACE_VERTEX = `#version 300 es
  precision highp float;
  layout(location=0) in vec3 place; layout(location=1) in vec2 folded; layout(location=2) in uvec4 joint;
  layout(location=3) in vec4 weight; layout(location=4) in vec4 tint; layout(location=5) in vec2 uv;
  uniform mat4 clip; uniform vec3 low, grain; uniform highp sampler2D bones; uniform int base;
  out vec3 normal, colour; out vec2 at;
  vec4 row(int r) {
    vec4 sum = vec4(0.0);
    for (int k = 0; k < 4; k++)
      if (weight[k] > 0.0) sum += weight[k] * texelFetch(bones, ivec2(r, base + int(joint[k])), 0);
    return sum;
  }
  void main() {
    vec4 x = vec4(low + grain * place, 1.0);
    vec4 a = row(0), b = row(1), c = row(2);
    float total = weight.x + weight.y + weight.z + weight.w;
    vec3 n = vec3(folded, 1.0 - abs(folded.x) - abs(folded.y));
    if (n.z < 0.0) n.xy = (1.0 - abs(n.yx)) * vec2(n.x >= 0.0 ? 1.0 : -1.0, n.y >= 0.0 ? 1.0 : -1.0);
    normal = vec3(dot(a.xyz, n), dot(b.xyz, n), dot(c.xyz, n));
    vec4 own = row(3) / total; // a colour of its bones, and how much of it
    colour = mix(tint.rgb * tint.rgb, own.rgb, own.a);
    at = uv;
    gl_Position = clip * vec4(vec3(dot(a, x), dot(b, x), dot(c, x)) / total, 1.0);
  }`;
  const SURFACE_FRAGMENT = `#version 300 es
  precision highp float;
  in vec3 normal, colour; in vec2 at;
  uniform sampler2D image; uniform bool textured; uniform float opacity, rim; uniform vec3 towards;
  out vec4 shown;
  void main() {
    vec3 n = normalize(gl_FrontFacing ? normal : -normal);
    vec3 base = colour;
    if (textured) { vec4 t = texture(image, at); base *= pow(t.rgb, vec3(2.2)); }
    float sky = 0.5 + 0.5 * n.z, head = max(dot(n, towards), 0.0);
    vec3 sun = normalize(towards + vec3(0.0, 0.0, 1.1));
    vec3 light = mix(vec3(0.27, 0.27, 0.30), vec3(0.54, 0.56, 0.60), sky)
      + vec3(0.56) * max(dot(n, sun), 0.0) + vec3(0.14) * head;
    vec3 x = base * light + rim * pow(1.0 - clamp(dot(n, towards), 0.0, 1.0), 3.0);
    // What is brighter than a half is bent towards 1: white keeps its shape.
    vec3 bent = min(x, 0.5) + 0.5 * (1.0 - exp(-2.0 * max(x - 0.5, 0.0)));
    shown = vec4(pow(bent, vec3(1.0 / 2.2)), opacity);
  }`;
  const POINT_VERTEX = `#version 300 es
  precision highp float;
  layout(location=0) in vec3 place; layout(location=1) in vec4 tint;
  uniform mat4 clip; uniform float size;
  out vec4 colour;
  void main() {
    gl_Position = clip * vec4(place, 1.0);
    gl_PointSize = max(5.0, size / gl_Position.w);
    colour = tint;
  }`;
  const POINT_FRAGMENT = `#version 300 es
  precision highp float;
  in vec4 colour; uniform float alpha, hole;
  out vec4 shown;
  void main() {
    vec2 d = 2.0 * gl_PointCoord - 1.0;
    float r = length(d);
    if (r > 1.0 || r < hole) discard;
    float edge = hole > 0.0 ? 1.0 : smoothstep(1.0, 0.72, r);
    shown = vec4(mix(colour.rgb * 0.45, colour.rgb, edge) + 0.15 * (hole > 0.0 ? 0.0 : d.y * -0.5), colour.a * alpha);
  }`;
  const LINE_VERTEX = `#version 300 es
  precision highp float;
  layout(location=0) in vec3 place; layout(location=1) in vec4 tint;
  uniform mat4 clip;
  out vec4 colour;
  void main() { gl_Position = clip * vec4(place, 1.0); colour = tint; }`;
  const LINE_FRAGMENT = `#version 300 es
  precision highp float;
  in vec4 colour; uniform float alpha;
  out vec4 shown;
  void main() { shown = vec4(colour.rgb, colour.a * alpha); }`;

  function compile(gl, vertex, fragment) {
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const at = {};
    for (let k = 0; k < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); k++) {
      const { name } = gl.getActiveUniform(program, k);
      at[name] = gl.getUniformLocation(program, name);
    }
    return { program, at };
  }

  const TYPES = { Float32Array: 5126, Uint8Array: 5121, Int8Array: 5120, Uint16Array: 5123, Uint32Array: 5125 };

  // Returns what draws into a canvas; null where there is no WebGL 2.
  function create(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
    if (!gl) return null;
    const surface = compile(gl, SURFACE_VERTEX, SURFACE_FRAGMENT);
    const point = compile(gl, POINT_VERTEX, POINT_FRAGMENT);
    const line = compile(gl, LINE_VERTEX, LINE_FRAGMENT);
    const boneTexture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, boneTexture);
    for (const key of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, key, gl.NEAREST);
    const stream = gl.createBuffer(), streamed = gl.createVertexArray();
    gl.bindVertexArray(streamed);
    gl.bindBuffer(gl.ARRAY_BUFFER, stream);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 28, 0);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.FLOAT, false, 28, 12);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);

    function attribute(index, array, width, { normalized = false, integer = false } = {}) {
      const type = TYPES[array.constructor.name];
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, array, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(index);
      if (integer) gl.vertexAttribIPointer(index, width, type, 0, 0);
      else gl.vertexAttribPointer(index, width, type, normalized, 0, 0);
    }

    function addPart(part) {
      const vertices = gl.createVertexArray();
      gl.bindVertexArray(vertices);
      attribute(0, part.vertices, 3);
      attribute(1, part.normals, 2, { normalized: true });
      const width = part.joints.length / part.count;
      attribute(2, part.joints, width, { integer: true });
      if (part.weights) attribute(3, part.weights, 4, { normalized: true });
      if (part.colours.length > 3) attribute(4, part.colours, 3, { normalized: true });
      if (part.uv) attribute(5, part.uv, 2);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, part.faces, gl.STATIC_DRAW);
      const added = { ...part, array: vertices, image: null };
      if (part.bitmap) {
        added.image = gl.createTexture();
        gl.bindTexture(gl.TEXTURE_2D, added.image);
        gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, part.bitmap);
        gl.generateMipmap(gl.TEXTURE_2D);
        gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
        gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, part.wrap[0]);
        gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, part.wrap[1]);
      }
      return added;
    }

    // Matrices of all parts, three rows each, and a colour: (4, 4, n) numbers.
    function setBones(matrices, count) {
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, boneTexture);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, 4, count, 0, gl.RGBA, gl.FLOAT, matrices);
    }

    let rim = 0;
    function drawPart(part, clip, towards, opacity) {
      gl.useProgram(surface.program);
      gl.bindVertexArray(part.array);
      if (!part.weights) gl.vertexAttrib4f(3, 1, 0, 0, 0);
      if (part.colours.length === 3) gl.vertexAttrib4f(4, part.colours[0] / 255, part.colours[1] / 255, part.colours[2] / 255, 1);
      gl.uniformMatrix4fv(surface.at.clip, false, clip);
      gl.uniform3fv(surface.at.low, part.low);
      gl.uniform3fv(surface.at.grain, part.step);
      gl.uniform3fv(surface.at.towards, towards);
      gl.uniform1f(surface.at.rim, rim);
      gl.uniform1i(surface.at.base, part.base);
      gl.uniform1i(surface.at.bones, 0);
      gl.uniform1i(surface.at.image, 1);
      gl.uniform1i(surface.at.textured, part.image ? 1 : 0);
      gl.uniform1f(surface.at.opacity, opacity * part.opacity);
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, boneTexture);
      gl.activeTexture(gl.TEXTURE1);
      gl.bindTexture(gl.TEXTURE_2D, part.image || boneTexture);
      if (opacity < 1) { // only the nearest surface, not all that is behind it
        gl.colorMask(false, false, false, false);
        gl.drawElements(gl.TRIANGLES, part.faces.length, gl.UNSIGNED_INT, 0);
        gl.colorMask(true, true, true, true);
        gl.depthFunc(gl.LEQUAL);
      }
      gl.drawElements(gl.TRIANGLES, part.faces.length, gl.UNSIGNED_INT, 0);
      gl.depthFunc(gl.LESS);
    }

    // Seven numbers each: place, red, green, blue, opacity.
    function drawStream(program, mode, numbers, clip, settings, alpha) {
      if (numbers.length === 0) return;
      gl.useProgram(program.program);
      gl.bindVertexArray(streamed);
      gl.bindBuffer(gl.ARRAY_BUFFER, stream);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.DYNAMIC_DRAW);
      gl.uniformMatrix4fv(program.at.clip, false, clip);
      gl.uniform1f(program.at.alpha, alpha);
      for (const [name, value] of Object.entries(settings)) gl.uniform1f(program.at[name], value);
      gl.drawArrays(mode, 0, numbers.length / 7);
    }

    return {
      gl, addPart, setBones, drawPart,
      drawPoints: (numbers, clip, size, hole, alpha = 1) => drawStream(point, gl.POINTS, numbers, clip, { size, hole }, alpha),
      drawLines: (numbers, clip, alpha = 1) => drawStream(line, gl.LINES, numbers, clip, {}, alpha),
      drawTriangles: (numbers, clip, alpha = 1) => drawStream(line, gl.TRIANGLES, numbers, clip, {}, alpha),
      begin(colour, edges) { // edges: light along the outlines, without which black is lost on a dark page
        rim = edges;
        gl.viewport(0, 0, canvas.width, canvas.height);
        gl.clearColor(...colour, 1);
        gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
        gl.enable(gl.DEPTH_TEST);
      },
    };
  }
  return { create };
})();
