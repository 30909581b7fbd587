/* Photons, boxes and rays in three dimensions, on a WebGL 2 canvas over the picture or alone. */
"use strict";

const photonVertexShader = `
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 power;
layout(location = 2) in uvec2 kind;
layout(location = 3) in uint map;
uniform mat4 matrix;
uniform vec3 palette[8], eye, forward;
uniform sampler2D depths;
uniform float pointSize, mean, tolerance;
uniform int colouring, hiding;
out vec3 colour;
void main() {
  gl_Position = matrix * vec4(position, 1.0);
  gl_PointSize = pointSize;
  if (colouring == 0) {
    float most = max(max(power.r, power.g), max(power.b, 1e-30));
    float brightness = clamp(0.75 + 0.12 * log2(most / mean), 0.25, 1.0);
    colour = pow(max(power / most, 0.0), vec3(1.0 / 2.2)) * brightness;
  } else colour = palette[(colouring == 1 ? kind.x : colouring == 2 ? kind.y : map) & 7u];
  if (hiding == 1) {
    vec2 place = 0.5 + 0.5 * gl_Position.xy / gl_Position.w;
    float seen = texture(depths, vec2(place.x, 1.0 - place.y)).r;
    if (seen > 0.0 && dot(position - eye, forward) > seen * (1.0 + tolerance)) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  }
}`;

const photonFragmentShader = `
in vec3 colour;
uniform float opacity, pointSize;
out vec4 result;
void main() {
  vec2 place = 2.0 * gl_PointCoord - 1.0;
  if (pointSize > 2.5 && dot(place, place) > 1.0) discard;
  result = vec4(colour, 1.0) * opacity;
}`;

/* The twelve edges of a box as 24 corners, whose bits choose the low or the high coordinate. */
const boxVertexShader = `
layout(location = 0) in vec3 low;
layout(location = 1) in vec3 high;
layout(location = 2) in uint flags;
uniform mat4 matrix;
uniform vec4 colourInner, colourLeaf;
uniform int highlight;
out vec4 colour;
void main() {
  int edge = gl_VertexID / 2, axis = edge / 4, end = gl_VertexID & 1;
  int a = edge & 1, b = edge >> 1 & 1;
  ivec3 corner = axis == 0 ? ivec3(end, a, b) : axis == 1 ? ivec3(a, end, b) : ivec3(a, b, end);
  gl_Position = matrix * vec4(mix(low, high, vec3(corner)), 1.0);
  colour = (flags & 1u) == 1u ? colourLeaf : colourInner;
  if (highlight >= 0 && gl_InstanceID != highlight) colour.a *= gl_InstanceID > highlight ? 0.0 : 0.35;
}`;

const lineVertexShader = `
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 lineColour;
uniform mat4 matrix;
out vec4 colour;
void main() {
  gl_Position = matrix * vec4(position, 1.0);
  colour = lineColour;
}`;

const lineFragmentShader = `
in vec4 colour;
out vec4 result;
void main() { result = vec4(colour.rgb * colour.a, colour.a); }`;

class Space {
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: true });
    if (!this.gl) throw new Error("This browser has no WebGL 2.");
    this.photons = { buffer: null, count: 0, total: 0, mean: 1 };
    this.boxes = { buffer: null, count: 0 };
    this.walk = { nodes: [], hit: null, step: -1 };
    this.disc = null;
    this.depth = null;
    this.options = {
      pointSize: 1.5, colouring: 0, opacity: 0.8, showPhotons: true, showBoxes: false, showBounds: true, hideCovered: true,
    };
    this.scheduled = false;
    this.share = 1;
    this.movedAt = this.rendered = -Infinity;
    this.prepare();
    canvas.addEventListener("webglcontextlost", event => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.prepare());
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  prepare() {
    const gl = this.gl;
    this.programs = {
      photons: makeProgram(gl, photonVertexShader, photonFragmentShader),
      boxes: makeProgram(gl, boxVertexShader, lineFragmentShader),
      lines: makeProgram(gl, lineVertexShader, lineFragmentShader),
    };
    this.arrays = {};
    this.buffers = {};
    for (const name of ["photons", "boxes", "walk", "lines", "disc"]) {
      this.arrays[name] = gl.createVertexArray();
      this.buffers[name] = gl.createBuffer();
      gl.bindVertexArray(this.arrays[name]);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      const real = (index, size, stride, offset, divisor = 0) => {
        gl.enableVertexAttribArray(index);
        gl.vertexAttribPointer(index, size, gl.FLOAT, false, stride, offset);
        gl.vertexAttribDivisor(index, divisor);
      };
      const whole = (index, size, type, stride, offset, divisor = 0) => {
        gl.enableVertexAttribArray(index);
        gl.vertexAttribIPointer(index, size, type, stride, offset);
        gl.vertexAttribDivisor(index, divisor);
      };
      if (name === "lines") {
        real(0, 3, 28, 0);
        real(1, 4, 28, 12);
      } else if (name === "photons" || name === "disc") {
        real(0, 3, 32, 0);
        real(1, 3, 32, 12);
        whole(2, 2, gl.UNSIGNED_BYTE, 32, 24);
        whole(3, 1, gl.UNSIGNED_SHORT, 32, 26);
      } else {
        real(0, 3, 28, 0, 1);
        real(1, 3, 28, 12, 1);
        whole(2, 1, gl.UNSIGNED_INT, 28, 24, 1);
      }
    }
    gl.bindVertexArray(null);
    this.depthTexture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.depthTexture);
    for (const edge of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, edge, gl.CLAMP_TO_EDGE);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 1, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    for (const name of ["photons", "boxes", "walk", "disc"]) if (this[`${name}Bytes`]) this.fill(name, this[`${name}Bytes`]);
    if (this.depth) this.setDepth(this.depth);
  }

  fill(name, bytes) {
    const gl = this.gl;
    this[`${name}Bytes`] = bytes;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.DYNAMIC_DRAW);
    this.draw();
  }

  /* Takes answers of /api/photons, one for each map; the graphics card reads them as they are. */
  setPhotons(answers) {
    let count = 0, total = 0;
    for (const answer of answers) {
      const [own, stride, all] = new Uint32Array(answer, 0, 3);
      if (stride !== 32 || answer.byteLength < 12 + 32 * own) throw new Error("The server sent photons that the page cannot read.");
      count += own;
      total += all;
    }
    /* Scattered by a step without common divisor with the count, so that the first ones are a sample of
       all: fewer are drawn while the camera moves, if need be. */
    const bytes = new Uint8Array(32 * count), words = new Uint32Array(bytes.buffer), view = new DataView(bytes.buffer);
    let to = 0, step = Math.floor(count * 0.618) | 1;
    const divisor = (a, b) => b ? divisor(b, a % b) : a;
    while (divisor(step, count) > 1) step += 2;
    for (const answer of answers) {
      const part = new Uint32Array(answer, 12, 8 * new Uint32Array(answer, 0, 1)[0]);
      for (let from = 0; from < part.length; from += 8) {
        for (let k = 0; k < 8; k++) words[8 * to + k] = part[from + k];
        to = (to + step) % count;
      }
    }
    const powers = [], stride = Math.max(1, Math.floor(count / 2000));
    for (let i = 0; i < count; i += stride)
      powers.push(Math.max(...[12, 16, 20].map(offset => view.getFloat32(32 * i + offset, true))));
    powers.sort((a, b) => a - b);
    this.photons = { count, total, mean: Math.max(powers[Math.floor(powers.length / 2)] || 0, 1e-30), classes: this.classes(view, count) };
    this.fill("photons", bytes);
  }

  /* Returns which bounces, lights and maps occur. */
  classes(view, count) {
    const found = [new Set(), new Set(), new Set()], step = Math.max(1, Math.floor(count / 20000));
    for (let i = 0; i < count; i += step) {
      found[0].add(view.getUint8(32 * i + 24));
      found[1].add(view.getUint8(32 * i + 25));
      found[2].add(view.getUint16(32 * i + 26, true));
    }
    return found.map(set => [...set].sort((a, b) => a - b));
  }

  /* Takes an answer of /api/boxes. */
  setBoxes(buffer) {
    const [count, stride] = new Uint32Array(buffer, 0, 2), head = buffer.byteLength - 28 * count;
    if (stride !== 28 || head < 8) throw new Error("The server sent boxes that the page cannot read.");
    this.boxes = { count };
    this.fill("boxes", new Uint8Array(buffer, head, 28 * count));
  }

  setWalk(nodes, start, hit) {
    const data = new ArrayBuffer(28 * nodes.length), view = new DataView(data);
    nodes.forEach((node, i) => {
      node.min.concat(node.max).forEach((value, k) => view.setFloat32(28 * i + 4 * k, value, true));
      view.setUint32(28 * i + 24, node.leaf ? 1 : 0, true);
    });
    this.walk = { nodes, start, hit, step: nodes.length - 1 };
    this.fill("walk", new Uint8Array(data));
  }

  /* The disc of a pixel: its centre, normal and radius, and its photons. */
  setDisc(disc) {
    this.disc = disc;
    const photons = disc ? disc.photons : [], data = new ArrayBuffer(32 * photons.length), view = new DataView(data);
    photons.forEach((photon, i) => {
      photon.position.concat(photon.power).forEach((value, k) => view.setFloat32(32 * i + 4 * k, value, true));
      view.setUint8(32 * i + 24, photon.bounce || 0);
      view.setUint8(32 * i + 25, photon.light || 0);
    });
    this.fill("disc", new Uint8Array(data));
  }

  /* The depths of the picture's surfaces along the view axis; they cover photons behind them. */
  setDepth(image) {
    const gl = this.gl;
    this.depth = image;
    gl.bindTexture(gl.TEXTURE_2D, this.depthTexture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 2);
    const [inner, format] = image.components === 1 ? [gl.R16F, gl.RED] : [gl.RGB16F, gl.RGB];
    gl.texImage2D(gl.TEXTURE_2D, 0, inner, image.width, image.height, 0, format, gl.HALF_FLOAT, image.values);
    this.draw();
  }

  /* Called when the camera moves: frames that take long draw a part of the photons until it rests. */
  moved() {
    this.movedAt = performance.now();
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.draw(), 250);
    this.draw();
  }

  drawnShare() {
    const now = performance.now(), spent = now - this.rendered;
    this.rendered = now;
    if (now - this.movedAt > 200) return 1;
    if (spent < 2000) this.share *= spent > 60 ? 0.6 : spent < 25 ? 1.2 : 1;
    this.share = Math.max(0.02, Math.min(1, this.share));
    return this.share;
  }

  /* `scene()` returns the camera, the bounds, the picture's camera, and the placement of the picture on
     the canvas if the drawing lies over it. */
  draw() {
    if (this.scheduled || this.canvas.hidden || !this.scene) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.render(this.scene());
    });
  }

  render({ camera, bounds, other, over, size, hides }) {
    const { gl, canvas, options } = this;
    fitCanvas(canvas);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (!camera) return;
    const share = this.drawnShare();
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const aspect = over ? size[0] / size[1] : canvas.width / canvas.height;
    const own = cameraMatrix(camera, aspect, ...clipDistances(camera, bounds));
    let matrix = own;
    gl.disable(gl.SCISSOR_TEST);
    if (over) { /* from the picture's clip coordinates to those of the canvas */
      const [sx, sy] = [size[0] * over.scale / canvas.width, size[1] * over.scale / canvas.height];
      const tx = 2 * over.left / canvas.width + sx - 1, ty = 1 - 2 * over.top / canvas.height - sy;
      matrix = matrixMultiply([sx, 0, 0, 0, 0, sy, 0, 0, 0, 0, 1, 0, tx, ty, 0, 1], own);
      gl.enable(gl.SCISSOR_TEST);
      gl.scissor(over.left, Math.round(canvas.height - over.top - size[1] * over.scale),
        Math.max(0, Math.round(size[0] * over.scale)), Math.max(0, Math.round(size[1] * over.scale)));
    }
    if (options.showPhotons && this.photons.count) this.drawPhotons("photons", Math.ceil(share * this.photons.count), matrix, camera, over, hides);
    this.drawBoxes(matrix);
    this.drawLines(matrix, this.sceneLines(over ? null : bounds, other, size));
    gl.disable(gl.DEPTH_TEST); /* what was asked for by a click is never hidden */
    this.drawWalk(matrix);
    this.drawLines(matrix, this.pixelLines());
    if (this.disc && this.disc.photons.length) this.drawPhotons("disc", this.disc.photons.length, matrix, camera, null, false);
  }

  drawPhotons(name, count, matrix, camera, over, hides) {
    const { gl, options } = this, { program, uniforms } = this.programs.photons;
    const hiding = name === "photons" && over && options.hideCovered && this.depth && hides;
    const size = (name === "disc" ? options.pointSize + 3 : options.pointSize) * (devicePixelRatio || 1);
    gl.useProgram(program);
    gl.uniformMatrix4fv(uniforms.matrix, false, matrix);
    gl.uniform3fv(uniforms.palette, classColours.flatMap(hexUnits));
    gl.uniform3fv(uniforms.eye, camera.eye);
    gl.uniform3fv(uniforms.forward, cameraFrame(camera).forward);
    gl.uniform1f(uniforms.pointSize, size);
    gl.uniform1f(uniforms.mean, this.photons.mean);
    gl.uniform1f(uniforms.tolerance, 0.02);
    gl.uniform1f(uniforms.opacity, name === "disc" ? 1 : options.opacity);
    gl.uniform1i(uniforms.colouring, options.colouring);
    gl.uniform1i(uniforms.hiding, hiding ? 1 : 0);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.depthTexture);
    gl.uniform1i(uniforms.depths, 0);
    gl.bindVertexArray(this.arrays[name]);
    gl.drawArrays(gl.POINTS, 0, count);
  }

  drawBoxes(matrix) {
    if (!this.options.showBoxes || !this.boxes.count) return;
    const faint = Math.max(0.15, Math.min(0.9, 12 / Math.sqrt(this.boxes.count)));
    this.drawEdges("boxes", this.boxes.count, matrix, [...hexUnits("#56b4e9"), faint], [...hexUnits("#f0a840"), faint], -1);
  }

  drawWalk(matrix) {
    const { nodes, step } = this.walk;
    if (nodes.length) this.drawEdges("walk", nodes.length, matrix, [...hexUnits("#8fd3ff"), 1], [...hexUnits("#ffb000"), 1], step);
  }

  drawEdges(name, count, matrix, inner, leaf, highlight) {
    const { gl } = this, { program, uniforms } = this.programs.boxes;
    gl.useProgram(program);
    gl.uniformMatrix4fv(uniforms.matrix, false, matrix);
    gl.uniform4fv(uniforms.colourInner, inner);
    gl.uniform4fv(uniforms.colourLeaf, leaf);
    gl.uniform1i(uniforms.highlight, highlight);
    gl.bindVertexArray(this.arrays[name]);
    gl.drawArraysInstanced(gl.LINES, 0, 24, count);
  }

  /* Lines are 14 numbers: position and colour of both ends. */
  static line(data, a, b, colour, alpha = 1) {
    data.push(...a, ...colour, alpha, ...b, ...colour, alpha);
  }

  sceneLines(bounds, other, size) {
    const { options } = this, data = [], line = (...values) => Space.line(data, ...values);
    if (options.showBounds && bounds && bounds.length === 6)
      for (let i = 0; i < 12; i++) {
        const axis = i >> 2, others = [0, 1, 2].filter(k => k !== axis), a = [], b = [];
        others.forEach((k, bit) => { a[k] = b[k] = bounds[k + 3 * (i >> bit & 1)]; });
        a[axis] = bounds[axis];
        b[axis] = bounds[axis + 3];
        line(a, b, i & 3 ? [0.55, 0.57, 0.6] : [[0.9, 0.35, 0.3], [0.35, 0.75, 0.35], [0.4, 0.55, 1]][axis], i & 3 ? 0.5 : 1);
      }
    if (other) this.cameraLines(line, other, size[0] / size[1], bounds ? vec3.length(vec3.sub(bounds.slice(3), bounds.slice(0, 3))) * 0.08 : 1);
    return data;
  }

  /* The ray, the disc, and where its photons came from. */
  pixelLines() {
    const { walk, disc } = this, data = [], line = (...values) => Space.line(data, ...values);
    if (walk.hit && walk.start) line(walk.start, walk.hit, [1, 1, 1]);
    if (disc && disc.radius > 0) {
      const u = vec3.perpendicular(disc.normal), v = vec3.cross(disc.normal, u), rim = angle =>
        vec3.along(vec3.along(disc.position, disc.radius * Math.cos(angle), u), disc.radius * Math.sin(angle), v);
      for (let i = 0; i < 64; i++) line(rim(i * Math.PI / 32), rim((i + 1) * Math.PI / 32), [1, 1, 1]);
      line(disc.position, vec3.along(disc.position, disc.radius, disc.normal), [1, 1, 1]);
      for (const photon of disc.photons.slice(0, 500))
        if (photon.direction)
          line(photon.position, vec3.along(photon.position, -disc.radius / 2, photon.direction), [0.8, 0.8, 0.8], 0.5);
    }
    return data;
  }

  drawLines(matrix, data) {
    if (!data.length) return;
    const { gl } = this, { program, uniforms } = this.programs.lines;
    gl.useProgram(program);
    gl.uniformMatrix4fv(uniforms.matrix, false, matrix);
    gl.bindVertexArray(this.arrays.lines);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.lines);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(data), gl.DYNAMIC_DRAW);
    gl.drawArrays(gl.LINES, 0, data.length / 7);
  }

  /* The picture's camera as a pyramid. */
  cameraLines(line, camera, aspect, length) {
    const { right, up, forward } = cameraFrame(camera), half = Math.tan(camera.fov * Math.PI / 360) * length;
    const corners = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) =>
      vec3.along(vec3.along(vec3.along(camera.eye, length, forward), x * half * aspect, right), y * half, up));
    corners.forEach((corner, i) => {
      line(camera.eye, corner, [0.95, 0.95, 0.95]);
      line(corner, corners[(i + 1) % 4], [0.95, 0.95, 0.95]);
    });
  }
}
