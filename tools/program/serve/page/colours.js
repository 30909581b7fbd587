/* The display of radiance as in core/image/tonemap.h, the false colours, and the shaders' common text. */
"use strict";

const toneCurves = ["linear", "reinhard", "aces", "agx", "neutral"];

/* Control points of the false colours, from low to high. */
const falseColours = {
  viridis: ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"],
  heat: ["#000000", "#3b0a3f", "#86183c", "#c7402d", "#f07f13", "#fcc43a", "#fffbe0"],
  grey: ["#000000", "#ffffff"],
};

/* Colours of classes that differ in hue and lightness, also for people who do not see all hues. */
const classColours = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#b0b0b0"];

const hexBytes = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
const hexUnits = hex => hexBytes(hex).map(byte => byte / 255);

function falseColourBytes(name, count = 256) {
  const points = falseColours[name].map(hexBytes), bytes = new Uint8Array(4 * count);
  for (let i = 0; i < count; i++) {
    const at = i / (count - 1) * (points.length - 1), k = Math.min(Math.floor(at), points.length - 2);
    for (let c = 0; c < 3; c++) bytes[4 * i + c] = Math.round(points[k][c] + (at - k) * (points[k + 1][c] - points[k][c]));
    bytes[4 * i + 3] = 255;
  }
  return bytes;
}

/* The automatic exposure in stops of core/image/encode.c: the weighted mean of the logarithms of the
   luminance of small cells becomes middle grey if it is darker, and at most 5 % of the pixels clip. */
function automaticExposure({ values, components, width, height }) {
  const side = Math.max(4, Math.ceil(Math.max(width, height) / 64)), cells = [];
  for (let top = 0; top < height; top += side)
    for (let left = 0; left < width; left += side) {
      let luminance = 0, largest = 0, count = 0;
      for (let y = top; y < Math.min(height, top + side); y++)
        for (let x = left; x < Math.min(width, left + side); x++) {
          const at = (y * width + x) * components, [r, g, b] = [0, 1, 2].map(c => halfTable[values[at + c]]);
          const own = 0.2126 * r + 0.7152 * g + 0.0722 * b;
          if (!Number.isFinite(own)) continue;
          luminance += Math.max(0, own);
          largest += Math.max(0, r, g, b);
          count++;
        }
      if (count) cells.push({ luminance: luminance / count, largest: largest / count, count });
    }
  cells.sort((a, b) => a.largest - b.largest);
  const share = 0.04 * cells.reduce((sum, cell) => sum + cell.count, 0);
  let i = cells.length, above = 0;
  while (i > 1 && above + cells[i - 1].count <= share) above += cells[--i].count;
  const bright = i ? cells[i - 1].largest || cells[cells.length - 1].largest : 0;
  if (!(bright > 0)) return 0;
  let sum = 0, weights = 0;
  for (const cell of cells) {
    const luminance = Math.min(cell.luminance, bright), weight = cell.count * Math.sqrt(luminance);
    if (weight > 0) sum += weight * Math.log2(luminance);
    weights += weight;
  }
  const grey = Math.log2(0.18) - (weights > 0 ? sum / weights : Math.log2(bright));
  return Math.min(Math.max(0, grey), -Math.log2(bright));
}

const toneShader = `
vec3 encode(vec3 x) {
  x = clamp(x, 0.0, 1.0);
  return mix(12.92 * x, 1.055 * pow(x, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, x));
}
vec3 aces(vec3 x) {
  x = min(x, 1000.0);
  return min(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 1.0);
}
vec3 agxBend(vec3 x) {
  vec3 t = clamp((log2(max(x, 1e-10)) + 12.47393) / (12.47393 + 4.026069), 0.0, 1.0);
  vec3 low = 0.4298 * t * t + 0.1191 * t - 0.00232;
  return (((15.5 * t - 40.14) * t + 31.96) * t - 6.868) * t * t * t + low;
}
vec3 agx(vec3 c) {
  vec3 s = agxBend(mat3(0.842479062, 0.0423282423, 0.0423756549, 0.0784336, 0.878468637, 0.0784336,
                        0.0792237451, 0.0791661275, 0.879142974) * c);
  s = mat3(1.19687901, -0.0528968518, -0.0529716355, -0.0980208811, 1.15190313, -0.0980434501,
           -0.0990297441, -0.0989611768, 1.15107367) * s;
  return pow(clamp(s, 0.0, 1.0), vec3(2.2));
}
vec3 neutral(vec3 c) {
  float low = min(c.x, min(c.y, c.z));
  c -= low < 0.08 ? low - 6.25 * low * low : 0.04;
  float peak = max(c.x, max(c.y, c.z)), start = 0.76, range = 0.24;
  if (peak < start) return c;
  float lowered = 1.0 - range * range / (peak + range - start);
  return mix(c * lowered / peak, vec3(lowered), 1.0 - 1.0 / (0.15 * (peak - lowered) + 1.0));
}
vec3 tone(vec3 c, int curve) {
  c = vec3(c.x > 0.0 ? min(c.x, 1e30) : 0.0, c.y > 0.0 ? min(c.y, 1e30) : 0.0, c.z > 0.0 ? min(c.z, 1e30) : 0.0);
  if (curve == 1) return c / (1.0 + dot(c, vec3(0.2126, 0.7152, 0.0722)));
  if (curve == 2) return aces(c);
  if (curve == 3) return agx(c);
  if (curve == 4) return neutral(c);
  return c;
}`;

/* Compiles a program; returns it with its uniforms' locations. */
function makeProgram(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, `#version 300 es\nprecision highp float;\nprecision highp int;\n${text}`);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost())
      throw new Error(`A shader of the page: ${gl.getShaderInfoLog(shader)}`);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost())
    throw new Error(`A shader of the page: ${gl.getProgramInfoLog(program)}`);
  const uniforms = {};
  for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
    const name = gl.getActiveUniform(program, i).name;
    uniforms[name.replace("[0]", "")] = gl.getUniformLocation(program, name);
  }
  return { program, uniforms };
}

/* Gives a canvas the resolution of the screen; returns true if it changed. */
function fitCanvas(canvas) {
  const ratio = devicePixelRatio || 1;
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width === width && canvas.height === height) return false;
  canvas.width = width;
  canvas.height = height;
  return true;
}
