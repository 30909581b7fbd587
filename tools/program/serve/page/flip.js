/* FLIP of the pictures A and B in shaders: the metric of core/image_processing/flip.c (Andersson et
   al. 2020), of the colours that the page displays. The filters are separable: a pass along the rows
   for each picture, then one along the columns for both. */
"use strict";

const flipReach = 10;

/* Weights from -reach to reach as vec4: of the rows or columns of the colours' four Gaussians, and of
   a Gaussian and its two derivatives for edges and points. */
function flipKernels() {
  const degree = 67.0206, deviation = 0.5 * 0.082 * degree, featureReach = Math.ceil(3 * deviation);
  const places = Array.from({ length: 2 * flipReach + 1 }, (_, i) => i - flipReach);
  const gaussian = (factor, reach) => {
    const values = places.map(x => Math.abs(x) <= reach ? Math.exp(-factor * x * x) : 0);
    const sum = values.reduce((a, b) => a + b);
    return { sum, values: values.map(value => value / sum) };
  };
  const derivative = order => {
    const values = places.map(place => {
      const x = place / deviation, bell = Math.exp(-x * x / 2);
      return Math.abs(place) > featureReach ? 0 : order === 1 ? -x * bell : (x * x - 1) * bell;
    });
    const positive = values.reduce((sum, v) => sum + Math.max(v, 0), 0), negative = values.reduce((sum, v) => sum - Math.min(v, 0), 0);
    return values.map(v => v / (v > 0 ? positive : negative));
  };
  const sensitivity = b => gaussian(Math.PI * Math.PI / (degree * degree * b), flipReach);
  const colours = [0.0047, 0.0053, 0.04, 0.025].map(sensitivity);
  const features = [gaussian(1 / (2 * deviation * deviation), featureReach).values, derivative(1), derivative(2), places.map(() => 0)];
  const weights = [[34.1, 0.04, colours[2].sum], [13.5, 0.025, colours[3].sum]].map(([a, b, sum]) => a * Math.sqrt(Math.PI / b) * sum * sum);
  return {
    colours: places.flatMap((_, i) => colours.map(kernel => kernel.values[i])),
    features: places.flatMap((_, i) => features.map(values => values[i])),
    share: weights[0] / (weights[0] + weights[1]),
  };
}

const flipRowShader = `
uniform sampler2D image;
uniform vec4 colourKernel[${2 * flipReach + 1}], featureKernel[${2 * flipReach + 1}];
uniform float exposure;
uniform int curve;
layout(location = 0) out vec4 colours;
layout(location = 1) out vec4 features;
${toneShader}
const vec2 white = vec2(0.950428545, 1.088900371);
void main() {
  ivec2 size = textureSize(image, 0), at = ivec2(gl_FragCoord.xy);
  colours = features = vec4(0.0);
  for (int k = -${flipReach}; k <= ${flipReach}; k++) {
    vec3 c = clamp(tone(texelFetch(image, ivec2(clamp(at.x + k, 0, size.x - 1), at.y), 0).rgb * exposure, curve), 0.0, 1.0);
    vec3 xyz = mat3(0.412386563, 0.212636822, 0.019330620, 0.357591491, 0.715182982, 0.119197164,
                    0.180450491, 0.072180196, 0.950372587) * c;
    vec3 opponent = vec3(116.0 * xyz.y - 16.0, 500.0 * (xyz.x / white.x - xyz.y), 200.0 * (xyz.y - xyz.z / white.y));
    colours += colourKernel[k + ${flipReach}] * opponent.xyzz;
    features += featureKernel[k + ${flipReach}] * xyz.y;
  }
}`;

const flipColumnShader = `
uniform sampler2D coloursA, featuresA, coloursB, featuresB;
uniform vec4 colourKernel[${2 * flipReach + 1}], featureKernel[${2 * flipReach + 1}];
uniform float share;
out vec4 result;
const vec2 white = vec2(0.950428545, 1.088900371);
vec3 curve(vec3 t) {
  const float delta = 6.0 / 29.0;
  return mix(t / (3.0 * delta * delta) + 4.0 / 29.0, pow(max(t, 0.0), vec3(1.0 / 3.0)), step(delta * delta * delta, t));
}
vec3 lab(vec3 rgb) {
  vec3 xyz = mat3(0.412386563, 0.212636822, 0.019330620, 0.357591491, 0.715182982, 0.119197164,
                  0.180450491, 0.072180196, 0.950372587) * rgb;
  vec3 f = curve(xyz / vec3(white.x, 1.0, white.y));
  float lightness = 116.0 * f.y - 16.0;
  return vec3(lightness, 0.01 * lightness * 500.0 * (f.x - f.y), 0.01 * lightness * 200.0 * (f.y - f.z));
}
float distance07(vec3 a, vec3 b) { return pow(abs(a.x - b.x) + length(a.yz - b.yz), 0.7); }
vec3 rgb(vec4 sums) {
  vec3 c = vec3(sums.x, sums.y, mix(sums.w, sums.z, share));
  float y = (c.x + 16.0) / 116.0;
  vec3 xyz = vec3(white.x * (y + c.y / 500.0), y, white.y * (y - c.z / 200.0));
  return clamp(mat3(3.241003233, -0.969224252, 0.055639420, -1.537398969, 1.875929984, -0.204011206,
                    -0.498615882, 0.041554226, 1.057148977) * xyz, 0.0, 1.0);
}
void filtered(sampler2D colours, sampler2D features, out vec3 colour, out float edge, out float point) {
  ivec2 size = textureSize(colours, 0), at = ivec2(gl_FragCoord.xy);
  vec4 sums = vec4(0.0);
  vec2 edges = vec2(0.0), points = vec2(0.0);
  for (int k = -${flipReach}; k <= ${flipReach}; k++) {
    ivec2 place = ivec2(at.x, clamp(at.y + k, 0, size.y - 1));
    vec4 row = texelFetch(features, place, 0), weight = featureKernel[k + ${flipReach}];
    sums += colourKernel[k + ${flipReach}] * texelFetch(colours, place, 0);
    edges += vec2(weight.x * row.y, weight.y * row.x);
    points += vec2(weight.x * row.z, weight.z * row.x);
  }
  colour = lab(rgb(sums));
  edge = length(edges);
  point = length(points);
}
void main() {
  vec3 a, b;
  float edgeA, edgeB, pointA, pointB;
  filtered(coloursA, featuresA, a, edgeA, pointA);
  filtered(coloursB, featuresB, b, edgeB, pointB);
  float largest = distance07(lab(vec3(0.0, 1.0, 0.0)), lab(vec3(0.0, 0.0, 1.0))), cut = 0.4 * largest;
  float far = distance07(a, b);
  float error = far < cut ? 0.95 / cut * far : 0.95 + (far - cut) / (largest - cut) * 0.05;
  float feature = sqrt(sqrt(0.5) * max(abs(edgeA - edgeB), abs(pointA - pointB)));
  result = vec4(error > 0.0 ? pow(error, 1.0 - min(feature, 1.0)) : 0.0);
}`;

class Flip {
  /* Returns null where the browser cannot draw into textures of floats. */
  static open(gl) {
    return gl.getExtension("EXT_color_buffer_float") ? new Flip(gl) : null;
  }

  constructor(gl) {
    const vertex = "void main() { gl_Position = vec4(vec2(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1), 0.0, 1.0); }";
    this.gl = gl;
    this.kernels = flipKernels();
    this.rows = makeProgram(gl, vertex, flipRowShader);
    this.columns = makeProgram(gl, vertex, flipColumnShader);
    this.textures = Array.from({ length: 5 }, () => gl.createTexture());
    this.frame = gl.createFramebuffer();
    this.size = "";
    this.state = "";
    this.mean = NaN;
  }

  get result() { return this.textures[4]; }

  resize(width, height) {
    const { gl } = this;
    if (this.size === `${width} ${height}`) return;
    this.size = `${width} ${height}`;
    for (const texture of this.textures) {
      gl.bindTexture(gl.TEXTURE_2D, texture);
      for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, width, height, 0, gl.RGBA, gl.FLOAT, null);
    }
  }

  draw(part, targets, inputs) {
    const { gl, kernels } = this, { program, uniforms } = part;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.frame);
    [0, 1].forEach(i => gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0 + i, gl.TEXTURE_2D, targets[i] || null, 0));
    gl.drawBuffers(targets.map((_, i) => gl.COLOR_ATTACHMENT0 + i));
    gl.useProgram(program);
    gl.uniform4fv(uniforms.colourKernel, kernels.colours);
    gl.uniform4fv(uniforms.featureKernel, kernels.features);
    Object.entries(inputs).forEach(([name, texture], unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.uniform1i(uniforms[name], unit);
    });
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /* Computes the errors of A against B, textures of one size, unless they are those of `state`. */
  update(a, b, width, height, exposure, curve, state) {
    const { gl, textures } = this;
    if (state === this.state) return;
    this.state = state;
    this.resize(width, height);
    gl.viewport(0, 0, width, height);
    gl.useProgram(this.rows.program);
    gl.uniform1f(this.rows.uniforms.exposure, exposure);
    gl.uniform1i(this.rows.uniforms.curve, curve);
    this.draw(this.rows, textures.slice(0, 2), { image: a });
    this.draw(this.rows, textures.slice(2, 4), { image: b });
    gl.useProgram(this.columns.program);
    gl.uniform1f(this.columns.uniforms.share, this.kernels.share);
    this.draw(this.columns, [textures[4]], { coloursA: textures[0], featuresA: textures[1], coloursB: textures[2], featuresB: textures[3] });
    const values = new Float32Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.FLOAT, values);
    let sum = 0;
    for (let i = 0; i < values.length; i += 4) sum += values[i];
    this.mean = sum / (width * height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.activeTexture(gl.TEXTURE0);
  }
}
