/* Boxes, planes and lines of the 3-D view: their shaders, and the lines as numbers: position and colour
   of both ends, 14 numbers a line. */
"use strict";

/* The twelve edges of a box as 24 corners, whose bits choose the low or the high coordinate. Bit 0 of
   the flags marks a leaf, bit 1 a plane, whose axis follows in bits 2 and 3. */
const boxVertexShader = `
layout(location = 0) in vec3 low;
layout(location = 1) in vec3 high;
layout(location = 2) in uint flags;
uniform mat4 matrix;
uniform vec4 colourInner, colourLeaf;
uniform int highlight, filled;
out vec4 colour;
const vec3 axes[3] = vec3[3](vec3(0.95, 0.4, 0.35), vec3(0.4, 0.8, 0.4), vec3(0.45, 0.6, 1.0));
void main() {
  bool plane = (flags & 2u) == 2u;
  int axis = int(flags >> 2u & 3u);
  ivec3 corner;
  if (filled == 1) { /* two triangles across the plane's axis */
    int k = gl_VertexID % 3 + gl_VertexID / 3, a = k & 1, b = k >> 1 & 1;
    corner = axis == 0 ? ivec3(0, a, b) : axis == 1 ? ivec3(a, 0, b) : ivec3(a, b, 0);
  } else {
    int edge = gl_VertexID / 2, along = edge / 4, end = gl_VertexID & 1, a = edge & 1, b = edge >> 1 & 1;
    corner = along == 0 ? ivec3(end, a, b) : along == 1 ? ivec3(a, end, b) : ivec3(a, b, end);
  }
  gl_Position = matrix * vec4(mix(low, high, vec3(corner)), 1.0);
  colour = (flags & 1u) == 1u ? colourLeaf : plane ? vec4(axes[axis], colourInner.a) : colourInner;
  if (filled == 1) colour.a *= plane ? 0.25 : 0.0;
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
void main() {
  if (colour.a == 0.0) discard;
  result = vec4(colour.rgb * colour.a, colour.a);
}`;

/* The colour of a power beside the middle one, as in the shader of photons. */
function powerColour(power, middle) {
  const most = Math.max(...power, 1e-30), brightness = Math.max(0.25, Math.min(1, 0.75 + 0.12 * Math.log2(most / middle)));
  return power.map(value => Math.max(0, value / most) ** (1 / 2.2) * brightness);
}
function middleOf(values) {
  const sorted = values.filter(value => value > 0).sort((a, b) => a - b);
  return sorted[sorted.length >> 1] || 1e-30;
}
const classUnits = classColours.map(hexUnits);

const shapes = {
  line(data, a, b, colour, alpha = 1) {
    data.push(...a, ...colour, alpha, ...b, ...colour, alpha);
  },

  /* The edges of a box; those at its lowest corner have the colours of their axes. */
  bounds(data, bounds) {
    for (let i = 0; i < 12; i++) {
      const axis = i >> 2, others = [0, 1, 2].filter(k => k !== axis), a = [], b = [];
      others.forEach((k, bit) => { a[k] = b[k] = bounds[k + 3 * (i >> bit & 1)]; });
      a[axis] = bounds[axis];
      b[axis] = bounds[axis + 3];
      shapes.line(data, a, b, i & 3 ? [0.55, 0.57, 0.6] : [[0.9, 0.35, 0.3], [0.35, 0.75, 0.35], [0.4, 0.55, 1]][axis], i & 3 ? 0.5 : 1);
    }
  },

  /* A camera as a pyramid. */
  camera(data, camera, aspect, length) {
    const { right, up, forward } = cameraFrame(camera), half = Math.tan(camera.fov * Math.PI / 360) * length;
    const corners = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) =>
      vec3.along(vec3.along(vec3.along(camera.eye, length, forward), x * half * aspect, right), y * half, up));
    corners.forEach((corner, i) => {
      shapes.line(data, camera.eye, corner, [0.95, 0.95, 0.95]);
      shapes.line(data, corner, corners[(i + 1) % 4], [0.95, 0.95, 0.95]);
    });
  },

  /* The disc of a pixel, the tiles of its integral (those without light orange), its normal, and the directions that its photons came from. */
  disc(data, disc) {
    if (!(disc.radius > 0)) return;
    const u = vec3.perpendicular(disc.normal), v = vec3.cross(disc.normal, u), rim = angle =>
      vec3.along(vec3.along(disc.position, disc.radius * Math.cos(angle), u), disc.radius * Math.sin(angle), v);
    for (let i = 0; i < 64; i++) shapes.line(data, rim(i * Math.PI / 32), rim((i + 1) * Math.PI / 32), [1, 1, 1]);
    shapes.line(data, disc.position, vec3.along(disc.position, disc.radius, disc.normal), [1, 1, 1]);
    for (const { corners, weight } of disc.tiles)
      corners.forEach((corner, i) => shapes.line(data, corner, corners[(i + 1) % 3], weight > 0 ? [0.35, 0.7, 1] : [1, 0.6, 0.2], 0.8));
    for (const photon of disc.photons.slice(0, 500))
      if (photon.direction)
        shapes.line(data, photon.position, vec3.along(photon.position, -disc.radius / 2, photon.direction), [0.8, 0.8, 0.8], 0.5);
  },

  /* Light paths up to a number of bounces, coloured as the photons are, or white with the colouring -1. */
  lightPaths(data, lightPaths, colouring, bounces, alpha) {
    const middle = middleOf(lightPaths.flatMap(lightPath => lightPath.points.map(point => Math.max(...point.power))));
    for (const { points, light } of lightPaths)
      for (let i = 1; i < points.length && points[i].bounce <= bounces; i++) {
        const { power, bounce, kind } = points[i];
        const colour = colouring < 0 ? [1, 1, 1] : colouring === 1 ? classUnits[bounce & 7] : colouring === 2 ? classUnits[light & 7] : powerColour(power, middle);
        shapes.line(data, points[i - 1].position, points[i].position, colour, kind === 4 ? alpha / 4 : alpha);
      }
  },

  beams(data, beams, colouring, alpha) {
    const middle = middleOf(beams.map(beam => Math.max(...beam.power)));
    for (const { position, end, power, bounce, light } of beams)
      shapes.line(data, position, end, colouring === 1 ? classUnits[bounce & 7] : colouring === 2 ? classUnits[light & 7] : colouring === 3 ? classUnits[3] : powerColour(power, middle), alpha);
  },
};

const allBounces = 65535;
const kindNames = ["light", "surface", "mirror or glass", "medium", "leaves the scene", "cut-out"];

/* Reads an answer of /api/light_paths. */
function decodeLightPaths(buffer) {
  const [count, stride, total] = new Uint32Array(buffer, 0, 3), view = new DataView(buffer), lightPaths = [];
  let at = 12 + 16 * count;
  if (stride < 32 || buffer.byteLength < at + stride * total) throw new Error("The server sent light paths that the page cannot read.");
  const vector = offset => [0, 4, 8].map(k => view.getFloat32(offset + k, true));
  for (let i = 0; i < count; i++) {
    const [path, light, group, length] = [0, 4, 8, 12].map(k => view.getUint32(12 + 16 * i + k, true)), points = [];
    for (let k = 0; k < length; k++, at += stride)
      points.push({ position: vector(at), power: vector(at + 12), kind: view.getUint8(at + 24), stored: view.getUint8(at + 25),
        bounce: view.getUint16(at + 26, true) });
    lightPaths.push({ path, light, group: group === 0xffffffff ? -1 : group, points });
  }
  return lightPaths;
}

/* Reads an answer of /api/planes; returns nodes as those of /api/ray are. */
function decodePlanes(buffer) {
  const [count, stride] = new Uint32Array(buffer, 0, 2), view = new DataView(buffer);
  if (stride < 40 || buffer.byteLength < 12 + stride * count) throw new Error("The server sent planes that the page cannot read.");
  return Array.from({ length: count }, (_, i) => {
    const at = 12 + stride * i, numbers = Array.from({ length: 7 }, (unused, k) => view.getFloat32(at + 4 * k, true));
    return { min: numbers.slice(0, 3), max: numbers.slice(3, 6), split: numbers[6], axis: view.getUint8(at + 28), leaf: view.getUint8(at + 29) === 1,
      points: view.getUint32(at + 36, true) };
  });
}

/* Returns nodes as boxes for the graphics card; inner nodes of a point tree have a plane each. */
function nodeBytes(nodes, withPlanes) {
  const planes = withPlanes ? nodes.filter(node => !node.leaf && node.axis !== undefined) : [];
  const data = new ArrayBuffer(28 * (nodes.length + planes.length)), view = new DataView(data);
  let at = 0;
  const add = (low, high, flags) => {
    low.concat(high).forEach((value, k) => view.setFloat32(at + 4 * k, value, true));
    view.setUint32(at + 24, flags, true);
    at += 28;
  };
  for (const node of nodes) add(node.min, node.max, node.leaf ? 1 : 0);
  for (const { min, max, axis, split } of planes)
    add(...[min, max].map(corner => corner.map((value, k) => k === axis ? split : value)), 2 | axis << 2);
  return new Uint8Array(data);
}
