/* The picture: its values, as the server sends them, on a WebGL 2 canvas. The picture is placed on
   the canvas by `view`: the scale (screen pixels per picture pixel) and its left upper corner. */
"use strict";

const pictureShader = `
uniform sampler2D imageA, imageB, colours;
uniform vec3 placement;
uniform vec2 size, canvas, range;
uniform int mode, curve, component, comparing, smoothed, logarithmic;
uniform float exposure, split;
out vec4 result;
${toneShader}
vec3 sampled(sampler2D image, vec2 place, float footprint) {
  ivec2 size = textureSize(image, 0);
  vec2 at = place * vec2(size);
  if (footprint > 1.0) {
    int count = min(int(ceil(footprint)), 5);
    vec3 sum = vec3(0.0);
    for (int y = 0; y < count; y++)
      for (int x = 0; x < count; x++) {
        vec2 offset = (vec2(x, y) + 0.5) / float(count) - 0.5;
        sum += texelFetch(image, clamp(ivec2(at + offset * footprint), ivec2(0), size - 1), 0).rgb;
      }
    return sum / float(count * count);
  }
  if (smoothed == 1) return texture(image, place).rgb;
  return texelFetch(image, clamp(ivec2(at), ivec2(0), size - 1), 0).rgb;
}
float scalar(vec3 c) {
  if (component == 1) return c.r;
  if (component == 2) return c.g;
  if (component == 3) return c.b;
  return dot(c, vec3(0.2126, 0.7152, 0.0722));
}
vec3 mapped(float x) {
  float low = range.x, high = range.y;
  if (!(x == x)) return vec3(1.0, 0.0, 1.0);
  if (logarithmic == 1) {
    x = log(max(x, 1e-20));
    low = log(max(low, 1e-20));
    high = log(max(high, 1e-20));
  }
  return texture(colours, vec2(clamp((x - low) / max(high - low, 1e-20), 0.0, 1.0) * (255.0 / 256.0) + 0.5 / 256.0, 0.5)).rgb;
}
vec3 classColour(float x) {
  uint h = uint(max(x, 0.0) + 0.5) * 747796405u + 2891336453u;
  h = ((h >> ((h >> 28u) + 4u)) ^ h) * 277803737u;
  return 0.25 + 0.7 * vec3(float(h & 255u), float(h >> 8u & 255u), float(h >> 16u & 255u)) / 255.0;
}
vec3 shown(vec3 c) {
  if (mode == 0) return encode(tone(c * exposure, curve));
  if (mode == 1) return encode(c);
  if (mode == 2) return 0.5 * c + 0.5;
  if (mode == 3) return mapped(scalar(c));
  return classColour(c.r);
}
void main() {
  vec2 place = (vec2(gl_FragCoord.x, canvas.y - gl_FragCoord.y) - placement.xy) / placement.z / size;
  if (any(lessThan(place, vec2(0.0))) || any(greaterThanEqual(place, vec2(1.0)))) {
    result = vec4(0.0);
    return;
  }
  float footprint = float(textureSize(imageA, 0).x) / (size.x * placement.z);
  vec3 colour;
  if (comparing == 1 && place.x >= split) {
    float footprintB = float(textureSize(imageB, 0).x) / (size.x * placement.z);
    colour = shown(sampled(imageB, place, footprintB));
  } else {
    vec3 a = sampled(imageA, place, footprint);
    if (comparing >= 2) {
      vec3 b = sampled(imageB, place, footprint), difference = abs(a - b);
      if (comparing == 3) difference /= max(abs(b), 0.01);
      colour = mapped((difference.r + difference.g + difference.b) / 3.0);
    } else colour = shown(a);
  }
  result = vec4(colour, 1.0);
}`;

/* Which display a channel has: light through exposure and tone curve, colour, direction, scalar, class. */
function channelMode(name, components) {
  if (/id$|object|material|triangle|instance/i.test(name) && components === 1) return 4;
  if (components === 1) return 3;
  if (/normal/i.test(name)) return 2;
  return /albedo/i.test(name) ? 1 : 0;
}

/* Pictures of light can be compared with each other, others with their own channel alone. */
const lightChannels = ["beauty", "denoised", "reference"];
const comparable = (a, b) => a.channel === b.channel || [a, b].every(image => lightChannels.includes(image.channel));

class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { antialias: false });
    if (!this.gl) throw new Error("This browser has no WebGL 2, which the page needs. Try a current Firefox, Chromium or Safari.");
    this.image = this.kept = null;
    this.view = { fit: true, scale: 1, left: 0, top: 0 };
    this.display = {
      channel: "beauty", exposure: 0, curve: "linear", colours: "viridis", falseColour: false, component: 0,
      automatic: true, low: 0, high: 1, logarithmic: false, comparing: 0, split: 0.5,
    };
    this.scheduled = false;
    this.afterDraw = [];
    this.prepare();
    canvas.addEventListener("webglcontextlost", event => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => { this.prepare(); this.upload(); this.draw(); });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  prepare() {
    const gl = this.gl;
    this.program = makeProgram(gl, `void main() {
      gl_Position = vec4(vec2(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1), 0.0, 1.0); }`, pictureShader);
    this.textures = {};
    for (const name of ["imageA", "imageB", "colours"]) {
      this.textures[name] = gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, this.textures[name]);
      for (const edge of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, edge, gl.CLAMP_TO_EDGE);
      for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.LINEAR);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 1, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    }
    this.colourName = "";
    this.flip = Flip.open(gl);
  }

  /* Reads an answer of /api/picture. */
  static decode(buffer, channel) {
    const head = new Uint32Array(buffer, 0, 4), [width, height, components, number] = head;
    if (buffer.byteLength < 16 + 2 * width * height * components) throw new Error("The server sent an incomplete picture.");
    return { width, height, components, number, channel, values: new Uint16Array(buffer, 16, width * height * components) };
  }

  setImage(image) {
    this.image = image;
    this.upload();
    this.draw();
  }

  /* Keeps the picture of now as B of the comparison. */
  keep() { this.setKept(this.image); }

  setKept(image) {
    this.kept = image;
    this.upload();
    this.draw();
  }

  upload() {
    const gl = this.gl;
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 2);
    for (const [name, image] of [["imageA", this.image], ["imageB", this.kept]]) {
      if (!image || this.textures[name].image === image) continue;
      const [inner, format] = { 1: [gl.R16F, gl.RED], 3: [gl.RGB16F, gl.RGB], 4: [gl.RGBA16F, gl.RGBA] }[image.components];
      gl.bindTexture(gl.TEXTURE_2D, this.textures[name]);
      gl.texImage2D(gl.TEXTURE_2D, 0, inner, image.width, image.height, 0, format, gl.HALF_FLOAT, image.values);
      this.textures[name].image = image;
      this.uploads = (this.uploads || 0) + 1;
    }
  }

  /* The size of the whole picture, and the part of it that is rendered. */
  get full() {
    const { width, height } = live.state && live.state.width ? live.state : this.image || { width: 1, height: 1 };
    return [width, height];
  }

  get crop() { return live.state && live.state.crop || [0, 0, ...this.full]; }

  /* The size of the rendered part in its own pixels; a picture in motion may be sent smaller. */
  get size() {
    const { crop } = this;
    return [crop[2] - crop[0], crop[3] - crop[1]];
  }

  place() {
    const [width, height] = this.size, { canvas, view } = this;
    if (view.fit) {
      view.scale = Math.min(canvas.width / width, canvas.height / height);
      view.left = Math.round((canvas.width - width * view.scale) / 2);
      view.top = Math.round((canvas.height - height * view.scale) / 2);
    }
    return view;
  }

  /* Changes the scale about a point of the canvas in screen pixels, by default its centre. */
  zoom(scale, x = this.canvas.width / 2, y = this.canvas.height / 2) {
    const view = this.place();
    scale = Math.min(64, Math.max(0.05, scale));
    view.left = Math.round(x - (x - view.left) * scale / view.scale);
    view.top = Math.round(y - (y - view.top) * scale / view.scale);
    view.scale = scale;
    view.fit = false;
    this.draw();
  }

  move(dx, dy) {
    const view = this.place();
    const [width, height] = this.size, margin = 40;
    view.left = Math.max(margin - width * view.scale, Math.min(this.canvas.width - margin, view.left + dx));
    view.top = Math.max(margin - height * view.scale, Math.min(this.canvas.height - margin, view.top + dy));
    view.fit = false;
    this.draw();
  }

  fit() {
    this.view.fit = true;
    this.draw();
  }

  /* Returns the picture's coordinates at a mouse event; they may lie outside. */
  locate(event) {
    const box = this.canvas.getBoundingClientRect(), view = this.place(), ratio = this.canvas.width / box.width;
    return [((event.clientX - box.left) * ratio - view.left) / view.scale, ((event.clientY - box.top) * ratio - view.top) / view.scale];
  }

  /* Returns the values of the shown channel at coordinates of the picture, or null outside. */
  valueAt(x, y, image = this.image) {
    const [width, height] = this.size;
    if (!image || x < 0 || y < 0 || x >= width || y >= height) return null;
    const column = Math.floor(x / width * image.width), row = Math.floor(y / height * image.height);
    const first = (row * image.width + column) * image.components;
    return Array.from(image.values.subarray(first, first + Math.min(3, image.components)), bits => halfTable[bits]);
  }

  get mode() {
    if (!this.image) return 0;
    const mode = channelMode(this.image.channel, this.image.components);
    return mode < 2 && this.display.falseColour ? 3 : mode;
  }

  /* FLIP is for colours of equal size. */
  get comparing() {
    const { image, kept, display } = this;
    if (!kept || !image || !comparable(kept, image)) return 0;
    const flips = this.flip && image.components >= 3 && image.width === kept.width && image.height === kept.height;
    return display.comparing === 4 && !flips ? 0 : display.comparing;
  }

  get scaled() { return this.mode === 3 || this.comparing >= 2; }

  /* Returns the sorted values of the scale, from up to 20,000 pixels. */
  scaleValues() {
    const { image, kept, display } = this, found = [];
    const count = image.width * image.height, step = Math.max(1, Math.floor(count / 20000)) | 1;
    const same = kept && kept.width === image.width && kept.height === image.height;
    for (let i = 0; i < count; i += step) {
      const at = i * image.components;
      const value = c => halfTable[image.values[at + Math.min(c, image.components - 1)]];
      let x;
      if (this.comparing >= 2) {
        if (!same) break;
        x = 0;
        for (let c = 0; c < 3; c++) {
          const b = halfTable[kept.values[at + Math.min(c, kept.components - 1)]];
          x += Math.abs(value(c) - b) / (this.comparing === 3 ? Math.max(Math.abs(b), 0.01) : 1) / 3;
        }
      } else if (image.components === 1 || display.component) x = value(Math.max(0, display.component - 1));
      else x = 0.2126 * value(0) + 0.7152 * value(1) + 0.0722 * value(2);
      if (Number.isFinite(x)) found.push(x);
    }
    return found.sort((a, b) => a - b);
  }

  updateRange() {
    const { display } = this;
    if (this.comparing === 4) [display.low, display.high] = [0, 1];
    if (!this.image || !this.scaled || !display.automatic || this.comparing === 4) return;
    const values = this.scaleValues();
    if (!values.length) return;
    const at = share => values[Math.min(values.length - 1, Math.floor(share * values.length))];
    display.low = this.comparing >= 2 ? 0 : at(0.01);
    display.high = at(0.99);
    if (display.logarithmic) display.low = Math.max(display.low, display.high * 1e-4);
    if (!(display.high > display.low)) display.high = display.low + (Math.abs(display.low) * 1e-3 || 1);
  }

  draw() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.render();
      for (const listener of this.afterDraw) listener();
    });
  }

  render() {
    const { gl, canvas, display, image } = this;
    fitCanvas(canvas);
    const comparing = this.comparing, curve = toneCurves.indexOf(display.curve);
    if (comparing === 4)
      this.flip.update(this.textures.imageA, this.textures.imageB, image.width, image.height, 2 ** display.exposure, curve,
        `${this.uploads} ${display.exposure} ${curve}`);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const view = this.place();
    if (!image) return;
    this.updateRange();
    const { program, uniforms } = this.program, size = this.size;
    gl.useProgram(program);
    if (this.colourName !== display.colours) {
      gl.bindTexture(gl.TEXTURE_2D, this.textures.colours);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, falseColourBytes(display.colours));
      this.colourName = display.colours;
    }
    ["imageA", "imageB", "colours"].forEach((name, unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, comparing === 4 && unit === 0 ? this.flip.result : this.textures[name]);
      gl.uniform1i(uniforms[name], unit);
    });
    gl.activeTexture(gl.TEXTURE0);
    gl.uniform3f(uniforms.placement, view.left, view.top, view.scale);
    gl.uniform2f(uniforms.size, size[0], size[1]);
    gl.uniform2f(uniforms.canvas, canvas.width, canvas.height);
    gl.uniform2f(uniforms.range, display.low, display.high);
    gl.uniform1i(uniforms.mode, comparing === 4 ? 3 : this.mode);
    gl.uniform1i(uniforms.curve, curve);
    gl.uniform1i(uniforms.component, image.components === 1 || comparing === 4 ? 1 : display.component);
    gl.uniform1i(uniforms.comparing, comparing === 4 ? 0 : comparing);
    gl.uniform1i(uniforms.smoothed, this.mode !== 4 && comparing !== 4 && (view.scale < 2 || image.width < size[0]) ? 1 : 0);
    gl.uniform1i(uniforms.logarithmic, display.logarithmic && comparing !== 4 ? 1 : 0);
    gl.uniform1f(uniforms.exposure, 2 ** display.exposure);
    gl.uniform1f(uniforms.split, display.split);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }
}
