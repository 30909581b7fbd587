/* Vectors are arrays of three numbers, matrices column-major arrays of 16, as WebGL takes them. */
"use strict";

const vec3 = {
  add: (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]],
  sub: (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]],
  scale: (a, s) => [a[0] * s, a[1] * s, a[2] * s],
  along: (a, t, b) => [a[0] + t * b[0], a[1] + t * b[1], a[2] + t * b[2]],
  dot: (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
  cross: (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
  length: a => Math.hypot(a[0], a[1], a[2]),
  normalize(a) {
    const length = Math.hypot(a[0], a[1], a[2]);
    return length > 0 ? [a[0] / length, a[1] / length, a[2] / length] : [0, 0, 0];
  },
  /* Rotates about a unit axis (Rodrigues). */
  rotate(a, axis, angle) {
    const c = Math.cos(angle), s = Math.sin(angle);
    const along = vec3.dot(axis, a) * (1 - c), side = vec3.cross(axis, a);
    return [0, 1, 2].map(i => a[i] * c + side[i] * s + axis[i] * along);
  },
  /* Returns a unit vector at a right angle to the unit vector a. */
  perpendicular: a => vec3.normalize(vec3.cross(a, Math.abs(a[0]) < 0.6 ? [1, 0, 0] : [0, 1, 0])),
};

function matrixMultiply(a, b) {
  const out = new Float32Array(16);
  for (let column = 0; column < 4; column++)
    for (let row = 0; row < 4; row++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + row] * b[4 * column + k];
      out[4 * column + row] = sum;
    }
  return out;
}

/* Returns the camera's axes as the renderer has them. */
function cameraFrame(camera) {
  let forward = vec3.normalize(vec3.sub(camera.look_at, camera.eye));
  if (!vec3.length(forward)) forward = [0, 0, -1];
  let right = vec3.normalize(vec3.cross(forward, vec3.normalize(camera.up)));
  if (!vec3.length(right)) right = vec3.perpendicular(forward);
  return { right, up: vec3.cross(right, forward), forward };
}

/* Returns the matrix from the scene to clip coordinates; near and far are distances. */
function cameraMatrix(camera, aspect, near, far) {
  const { right, up, forward } = cameraFrame(camera);
  const eye = camera.eye;
  const view = [
    right[0], up[0], -forward[0], 0, right[1], up[1], -forward[1], 0, right[2], up[2], -forward[2], 0,
    -vec3.dot(right, eye), -vec3.dot(up, eye), vec3.dot(forward, eye), 1];
  const projection = new Float32Array(16);
  if (camera.orthographic > 0) {
    projection[0] = 2 / (camera.orthographic * aspect);
    projection[5] = 2 / camera.orthographic;
    projection[10] = -2 / (far - near);
    projection[14] = -(far + near) / (far - near);
    projection[15] = 1;
  } else {
    const cotangent = 1 / Math.tan(camera.fov * Math.PI / 360);
    projection[0] = cotangent / aspect;
    projection[5] = cotangent;
    projection[10] = -(far + near) / (far - near);
    projection[11] = -1;
    projection[14] = -2 * far * near / (far - near);
  }
  return matrixMultiply(projection, view);
}

/* Returns the near and far distances that enclose the bounds seen from the eye. */
function clipDistances(camera, bounds) {
  let far = 0, size = 1;
  if (bounds && bounds.length === 6) {
    const low = bounds.slice(0, 3), high = bounds.slice(3);
    size = vec3.length(vec3.sub(high, low)) || 1;
    far = vec3.length(vec3.sub(vec3.scale(vec3.add(low, high), 0.5), camera.eye)) + size;
  }
  far = Math.max(far, 2 * vec3.length(vec3.sub(camera.look_at, camera.eye)), 1e-3) * 1.1;
  return camera.orthographic > 0 ? [-far, far] : [Math.min(far / 2000, size / 500), far];
}

/* Returns a camera with all keys of a scene file's `camera`. */
function cameraDecode(source) {
  const number = (value, initial) => Number.isFinite(value) ? value : initial;
  const vector = (value, initial) =>
    Array.isArray(value) && value.length === 3 && value.every(Number.isFinite) ? value.slice() : initial;
  return {
    eye: vector(source.eye, [0, 0, 5]), look_at: vector(source.look_at, [0, 0, 0]),
    up: vector(source.up, [0, 1, 0]), fov: number(source.fov, 40),
    orthographic: number(source.orthographic, 0), lens_radius: number(source.lens_radius, 0),
    focus_distance: number(source.focus_distance, 0),
  };
}

/* Returns the camera as the `camera` object of a scene file. */
function cameraText(camera) {
  const short = value => Array.isArray(value) ? value.map(short) : +value.toPrecision(7);
  const out = {};
  for (const [key, value] of Object.entries(camera))
    if (value || !["orthographic", "lens_radius", "focus_distance"].includes(key)) out[key] = short(value);
  const rows = Object.entries(out).map(([key, value]) => `  "${key}": ${JSON.stringify(value).replaceAll(",", ", ")}`);
  return `{\n${rows.join(",\n")}\n}`;
}

/* IEEE 754 half precision: a table of all 65,536 values. */
const halfTable = (() => {
  const table = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const exponent = bits >> 10 & 31, fraction = bits & 1023, sign = bits & 0x8000 ? -1 : 1;
    if (exponent === 31) table[bits] = fraction ? NaN : sign * Infinity;
    else if (exponent) table[bits] = sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
    else table[bits] = sign * 2 ** -14 * (fraction / 1024);
  }
  return table;
})();

/* Returns a number in at most four significant digits, for people. */
function formatNumber(value) {
  if (value === null || value === undefined) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e12) return value.toLocaleString("en-GB").replace("-", "−");
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace("-", "−");
  return String(Number(value.toPrecision(size >= 1000 ? 5 : 4))).replace("-", "−");
}
const formatVector = value => Array.isArray(value) ? value.map(formatNumber).join(", ") : formatNumber(value);
const formatBytes = bytes => bytes < 1e6 ? `${formatNumber(Math.round(bytes / 1e3))} kB` : bytes < 1e9 ? `${formatNumber(+(bytes / 1e6).toPrecision(3))} MB` : `${formatNumber(+(bytes / 1e9).toPrecision(3))} GB`;
const formatSeconds = seconds => seconds < 60 ? `${formatNumber(+seconds.toPrecision(3))}\u00a0s`
  : `${Math.floor(seconds / 3600) ? `${Math.floor(seconds / 3600)}\u00a0h ` : ""}${Math.floor(seconds / 60) % 60}\u00a0min ${Math.floor(seconds % 60)}\u00a0s`;
