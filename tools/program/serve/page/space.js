/* Photons, boxes and lines in three dimensions, on a WebGL 2 canvas over the picture or alone.
   Photons are drawn in parts, each as large as the graphics card draws in some 150 ms (40 ms while the
   camera moves), so that the page answers while millions of them appear. While the camera moves, only the first ones are drawn: a
   half, a quarter, ... of all, always the same ones. */
"use strict";

const photonVertexShader = `
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 power;
layout(location = 2) in uvec2 kind;
layout(location = 3) in uint map;
uniform mat4 matrix;
uniform vec3 palette[8], eye, forward;
uniform vec4 depthPlace; /* from clip coordinates to the texture of depths: scales, offsets */
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
    float seen = texture(depths, gl_Position.xy / gl_Position.w * depthPlace.xy + depthPlace.zw).r;
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

class Space {
  constructor(canvas, software) {
    this.canvas = canvas;
    /* What was drawn stays, so that further photons can be added to it. Smooth lines make points three
       times slower where the processor draws. */
    this.gl = canvas.getContext("webgl2", { antialias: !software, alpha: true, premultipliedAlpha: true, preserveDrawingBuffer: true });
    if (!this.gl) throw new Error("This browser has no WebGL 2.");
    this.photons = { count: 0, total: 0, mean: 1 };
    this.boxes = { count: 0 };
    this.walk = { nodes: [], start: null, hit: null, step: -1 };
    this.disc = this.depth = this.chosen = null;
    this.lightPaths = [];
    this.beams = [];
    this.options = {
      pointSize: 1.5, colouring: 0, opacity: 0.8, showPhotons: true, showBoxes: false, showBounds: true, hideCovered: true, bounces: allBounces,
    };
    this.afterDraw = [];
    this.scheduled = false;
    this.batch = { moving: 20000, resting: 50000 }; /* photons in one part */
    this.drawn = 0;       /* photons drawn so far */
    this.version = 0;     /* of the data */
    this.shown = "";      /* what the canvas shows: camera, options, version */
    this.movedAt = -Infinity;
    this.prepare();
    canvas.addEventListener("webglcontextlost", event => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.prepare());
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  prepare() {
    const gl = this.gl;
    this.fence = null;
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

  /* Draws anew: the data have changed. */
  changed() {
    this.version++;
    this.draw();
  }

  fill(name, bytes) {
    const gl = this.gl;
    this[`${name}Bytes`] = bytes;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.DYNAMIC_DRAW);
    this.changed();
  }

  /* Takes answers of /api/photons, one for each map. */
  setPhotons(answers) {
    const heads = answers.map(answer => new Uint32Array(answer, 0, 3));
    heads.forEach(([own, stride], i) => {
      if (stride < 32 || stride & 3 || answers[i].byteLength < 12 + stride * own) throw new Error("The server sent photons that the page cannot read.");
    });
    const count = heads.reduce((sum, head) => sum + head[0], 0), total = heads.reduce((sum, head) => sum + head[2], 0);
    /* Scattered by a step without common divisor with the count, so that the first ones are a sample of
       all. The number of its light path follows each photon if the stride is longer. */
    const bytes = new Uint8Array(32 * count), words = new Uint32Array(bytes.buffer), view = new DataView(bytes.buffer), paths = new Uint32Array(count);
    let to = 0, step = Math.floor(count * 0.618) | 1;
    const divisor = (a, b) => b ? divisor(b, a % b) : a;
    while (divisor(step, count) > 1) step += 2;
    answers.forEach((answer, i) => {
      const [own, stride] = heads[i], part = new Uint32Array(answer, 12, own * stride / 4);
      for (let from = 0; from < part.length; from += stride / 4) {
        for (let k = 0; k < 8; k++) words[8 * to + k] = part[from + k];
        paths[to] = stride > 32 ? part[from + 8] : 0;
        to = (to + step) % count;
      }
    });
    const powers = [], stride = Math.max(1, Math.floor(count / 2000));
    for (let i = 0; i < count; i += stride)
      powers.push(Math.max(...[12, 16, 20].map(offset => view.getFloat32(32 * i + offset, true))));
    this.photons = { count, total, paths, mean: middleOf(powers), classes: this.classes(view, count) };
    this.fill("photons", bytes);
  }

  /* Takes an answer of /api/photons?map=beams, or null. */
  setBeams(answer) {
    this.beams = [];
    if (answer) {
      const [count, stride] = new Uint32Array(answer, 0, 2), view = new DataView(answer);
      const vector = at => [0, 4, 8].map(k => view.getFloat32(at + k, true));
      for (let i = 0, at = 12; i < count && stride >= 44; i++, at += stride)
        this.beams.push({ position: vector(at), power: vector(at + 12), bounce: view.getUint8(at + 24), light: view.getUint8(at + 25), end: vector(at + 32) });
    }
    this.changed();
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

  /* The nodes of a level of a point tree, with their planes. */
  setPlanes(nodes) {
    const bytes = nodeBytes(nodes, true);
    this.boxes = { count: bytes.length / 28 };
    this.fill("boxes", bytes);
  }

  setWalk(nodes, start, hit) {
    this.walk = { nodes, start, hit, step: nodes.length - 1 };
    this.fill("walk", nodeBytes(nodes, false));
  }

  setLightPaths(lightPaths, chosen) {
    this.lightPaths = lightPaths;
    this.chosen = chosen || null;
    this.changed();
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
    this.changed();
  }

  /* Called when the camera moves: a part of the photons is drawn until it rests. */
  moved() {
    this.movedAt = performance.now();
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.draw(), 250);
    this.draw();
  }

  /* `scene()` returns the camera, the bounds, the picture's camera, the picture's size and crop, and the
     placement of the crop on the canvas if the drawing lies over it. */
  draw() {
    if (this.scheduled || this.canvas.hidden || !this.scene) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      if (!this.canvas.hidden) this.frame();
    });
  }

  /* True if all that is to be seen at rest is drawn. */
  get complete() { return !this.scheduled && !this.fence && (!this.options.showPhotons || this.drawn >= this.photons.count); }

  /* Draws the next part, unless the graphics card is still at the last one. */
  frame() {
    const { gl } = this;
    if (this.fence && gl.getSyncParameter(this.fence.sync, gl.SYNC_STATUS) !== gl.SIGNALED) {
      if (performance.now() - this.fence.begun < 10000) return this.draw();
    } else if (this.fence && this.fence.count >= 1000) {
      const { pace, count, begun } = this.fence, [wanted, least] = pace === "moving" ? [40, 4000] : [150, 50000];
      this.batch[pace] = Math.round(Math.max(least, Math.min(4e6, count * Math.max(0.3, Math.min(3, wanted / (performance.now() - begun + 1))))));
    }
    if (this.fence) gl.deleteSync(this.fence.sync);
    this.fence = null;
    const scene = this.scene(), view = this.view(scene), begun = performance.now();
    const pace = begun - this.movedAt < 200 ? "moving" : "resting", batch = this.batch[pace];
    if (!view) return;
    const shown = JSON.stringify([this.version, [...view.matrix], this.canvas.width, this.canvas.height, view.hiding, view.box, this.options, this.walk.step,
      scene.other, scene.bounds]);
    const before = this.drawn;
    if (shown !== this.shown) {
      this.shown = shown;
      this.drawn = 0;
      this.begin(scene, view);
    } else if (this.drawn >= this.photons.count) return;
    let most = this.photons.count;
    while (pace === "moving" && most > batch) most = Math.ceil(most / 2);
    const to = this.options.showPhotons ? Math.min(most, this.drawn + batch) : 0, count = Math.max(0, to - this.drawn);
    if (count) this.drawPhotons("photons", this.drawn, count, view);
    this.drawn = Math.max(this.drawn, to);
    if (count || before) this.afterDraw.forEach(listener => listener());
    if (!count) return;
    this.fence = { sync: gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0), begun, count, pace };
    gl.flush();
    this.draw();
  }

  /* Returns the matrix from the scene to the canvas, and how the canvas lies on the picture. */
  view({ camera, bounds, over, size, crop, hides }) {
    const { canvas } = this;
    fitCanvas(canvas);
    if (!camera) return null;
    const aspect = over ? size[0] / size[1] : canvas.width / canvas.height;
    const own = cameraMatrix(camera, aspect, ...clipDistances(camera, bounds));
    if (!over) return { camera, matrix: own, hiding: false };
    /* from the clip coordinates of the whole picture to those of the canvas */
    const { scale } = over, left = over.left - crop[0] * scale, top = over.top - crop[1] * scale;
    const [sx, sy] = [size[0] * scale / canvas.width, size[1] * scale / canvas.height];
    const matrix = matrixMultiply([sx, 0, 0, 0, 0, sy, 0, 0, 0, 0, 1, 0, 2 * left / canvas.width + sx - 1, 1 - 2 * top / canvas.height - sy, 0, 1], own);
    const width = (crop[2] - crop[0]) * scale, height = (crop[3] - crop[1]) * scale;
    return { camera, matrix, hiding: Boolean(this.options.hideCovered && this.depth && hides),
      depthPlace: [canvas.width / 2 / width, -canvas.height / 2 / height, (canvas.width / 2 - over.left) / width, (canvas.height / 2 - over.top) / height],
      box: [over.left, canvas.height - over.top - height, width, height].map(Math.round) };
  }

  /* Clears the canvas, and draws all but the photons. What was asked for by a click is never hidden:
     it gets the depth 0. */
  begin({ bounds, other, over, size }, view) {
    const { gl, canvas, options } = this, { matrix } = view, lines = [], above = [];
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    if (over) {
      gl.enable(gl.SCISSOR_TEST);
      gl.scissor(...view.box.map(value => Math.max(0, value)));
    }
    gl.depthRange(0, 0);
    this.drawWalk(matrix);
    const { walk, disc, chosen } = this, node = walk.nodes[walk.step];
    if (walk.hit && walk.start) shapes.line(above, walk.start, walk.hit, [1, 1, 1]);
    if (node && node.axis !== undefined && !node.leaf) {
      const flat = [node.min, node.max].flatMap(corner => corner.map((value, k) => k === node.axis ? node.split : value));
      shapes.bounds(above, flat);
    }
    if (disc) shapes.disc(above, disc);
    if (chosen) shapes.lightPaths(above, [chosen], -1, allBounces, 1);
    this.drawLines(matrix, above);
    if (disc && disc.photons.length) this.drawPhotons("disc", 0, disc.photons.length, { ...view, hiding: false });
    gl.depthRange(0, 1);
    if (options.showBounds && !over && bounds && bounds.length === 6) shapes.bounds(lines, bounds);
    if (other) shapes.camera(lines, other, size[0] / size[1], bounds ? vec3.length(vec3.sub(bounds.slice(3), bounds.slice(0, 3))) * 0.08 : 1);
    shapes.lightPaths(lines, this.lightPaths, options.colouring, options.bounces, Math.min(1, 8 / Math.sqrt(this.lightPaths.length || 1)) * (chosen ? 0.3 : 1));
    if (options.showPhotons) shapes.beams(lines, this.beams, options.colouring, Math.min(1, 20 / Math.sqrt(this.beams.length || 1)) * options.opacity);
    this.drawLines(matrix, lines);
    this.drawBoxes(matrix);
  }

  drawPhotons(name, first, count, { camera, matrix, hiding, depthPlace }) {
    const { gl, options } = this, { program, uniforms } = this.programs.photons;
    const size = (name === "disc" ? options.pointSize + 3 : options.pointSize) * (devicePixelRatio || 1);
    gl.useProgram(program);
    gl.uniformMatrix4fv(uniforms.matrix, false, matrix);
    gl.uniform3fv(uniforms.palette, classUnits.flat());
    gl.uniform3fv(uniforms.eye, camera.eye);
    gl.uniform3fv(uniforms.forward, cameraFrame(camera).forward);
    gl.uniform4fv(uniforms.depthPlace, depthPlace || [0, 0, 0, 0]);
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
    gl.drawArrays(gl.POINTS, first, count);
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
    gl.uniform1i(uniforms.filled, 0);
    gl.drawArraysInstanced(gl.LINES, 0, 24, count);
    if (highlight >= 0 || count > 4000) return;
    gl.depthMask(false); /* planes let the photons behind them through */
    gl.uniform1i(uniforms.filled, 1);
    gl.drawArraysInstanced(gl.TRIANGLES, 0, 6, count);
    gl.depthMask(true);
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

  /* Returns a photon near a place on the canvas, or null: the frontmost within 3 screen pixels, else the
     nearest within 8. */
  pick(x, y) {
    const view = this.photons.count && this.options.showPhotons && this.view(this.scene());
    if (!view) return null;
    const values = new Float32Array(this.photonsBytes.buffer), data = new DataView(this.photonsBytes.buffer), m = view.matrix, { width, height } = this.canvas;
    const ratio = devicePixelRatio || 1;
    let best = -1, least = Infinity;
    for (let i = 0; i < this.photons.count; i++) {
      const a = values[8 * i], b = values[8 * i + 1], c = values[8 * i + 2], w = m[3] * a + m[7] * b + m[11] * c + m[15];
      const dx = (0.5 + 0.5 * (m[0] * a + m[4] * b + m[8] * c + m[12]) / w) * width - x;
      const dy = (0.5 - 0.5 * (m[1] * a + m[5] * b + m[9] * c + m[13]) / w) * height - y;
      const far = Math.hypot(dx, dy) / ratio, rank = far <= 3 ? w - 1e9 : far;
      if (!(w > 0) || far > 8 || rank >= least) continue;
      least = rank;
      best = i;
    }
    if (best < 0) return null;
    return { position: [...values.subarray(8 * best, 8 * best + 3)], power: [...values.subarray(8 * best + 3, 8 * best + 6)],
      bounce: data.getUint8(32 * best + 24), map: data.getUint16(32 * best + 26, true), path: this.photons.paths[best] };
  }
}
