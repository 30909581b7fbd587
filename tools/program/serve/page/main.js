/* Puts the parts of the page together. All files are one script, in the order of their names, so what
   runs at once is only this: the rest begins when the document is complete. */
"use strict";

const helpRows = [
  ["Drag, or one finger", "what the list above the picture says"],
  ["Shift + drag, right button, two fingers", "pan"], ["Ctrl + drag, wheel, pinch", "dolly"], ["Alt + drag", "look around"],
  ["Ctrl + wheel", "zoom the picture"], ["Click", "inspect a pixel"], ["Double click", "focus, and centre of motion"],
  ["Arrow keys; with Shift", "orbit; pan"], ["+ and −", "dolly"],
  ["W A S D, Q E; with Shift", "fly forwards, left, back, right, down, up; faster"],
  ["Ctrl + Z, Ctrl + Y", "undo and redo camera moves"], ["1 to 9", "named views"], ["R", "first camera"], ["H", "show all"],
  ["F", "focus at the clicked pixel"], ["V", "next view: picture, overlay, 3-D"], ["Z; 0", "zoom 1:1; fit"], ["X", "render a region; all again"], ["P", "pause and resume"],
  ["C", "compare: A alone, A beside B"], ["N", "denoise"], ["G", "photons on and off"], ["L", "light paths on and off"], ["B", "boxes of the tree on and off"],
  ["?", "this list"],
];

class App {
  constructor() {
    this.mode = "picture";
    this.freeCamera = true;
    this.selected = this.inspected = null;
    this.picture = new Picture(document.getElementById("picture"));
    this.space = new Space(document.getElementById("space"), /swiftshader|llvmpipe|software/i.test(this.picture.gl.getParameter(this.picture.gl.RENDERER)));
    this.sender = new Sender("/api/camera", 200);
    this.sent = 0;
    this.rig = new Rig(camera => this.cameraMoved(camera));
    this.freeRig = new Rig(() => this.space.moved());
    this.space.scene = () => this.spaceScene();
    this.stage = document.getElementById("stage");
    this.navigation = new Navigation(this.stage, () => this.target(), {
      focus: event => this.focusEvent(event), select: event => this.select(event), hover: event => this.hover(event),
      rest: () => this.showCamera(), key: event => this.key(event), choose: (start, event, ends) => this.choose(start, event, ends),
    });
    this.refreshPicture = newestOnly(() => this.loadPicture());
    displayPanel(this);
    cameraPanel(this);
    settingsPanel(this);
    lightsPanel(this);
    photonsPanel(this);
    lightPathsPanel(this);
    treesPanel(this);
    pixelPanel(this);
    comparePanel(this);
    statisticsPanel(this);
    filesPanel(this);
    this.picture.afterDraw.push(() => this.afterPicture());
    this.wire();
    live.on("state", state => this.stateChanged(state));
    live.on("connection", () => {
      this.showStatus();
      this.applyRights();
    });
    openEvents();
  }

  get sceneSize() {
    const { bounds } = live.state || {};
    return bounds && bounds.length === 6 ? vec3.length(vec3.sub(bounds.slice(3), bounds.slice(0, 3))) : 0;
  }

  /* What the mouse and the keys move. */
  target() {
    if (this.mode === "space" && this.freeCamera && this.freeRig.camera) return { rig: this.freeRig };
    if (this.mode !== "space" && (this.navigation.tool === "picture" || !live.owner)) return { picture: this.picture, zoomable: this.picture };
    return { rig: live.owner && this.rig.camera ? this.rig : null, zoomable: this.mode === "space" ? null : this.picture };
  }

  spaceScene() {
    const bounds = live.state && live.state.bounds, over = this.mode === "overlay" ? this.picture.place() : null;
    const free = this.mode === "space" && this.freeCamera;
    const { full, crop } = this.picture;
    return { camera: free ? this.freeRig.camera : this.rig.camera, bounds, other: free ? this.rig.camera : null, over, size: full, crop,
      hides: this.sender.idle && live.state && this.space.depthGeneration === live.state.generation };
  }

  cameraMoved(camera) {
    if (!live.owner) return;
    this.sender.send(camera);
    this.showCamera();
    if (this.mode !== "picture") this.space.moved();
  }

  /* The camera of the first page of this rendering; a page that is loaded again recalls it. */
  recallFirst(camera) {
    const key = `kandela-camera-${token.slice(0, 8)}`, kept = recall(key, "sessionStorage");
    if (kept) return JSON.parse(kept);
    remember(key, JSON.stringify(camera), "sessionStorage");
    return camera;
  }

  resetCamera() {
    if (this.firstCamera) this.rig.jump(this.firstCamera);
  }

  showAll() {
    const free = this.mode === "space" && this.freeCamera, rig = free ? this.freeRig : this.rig;
    if (!free && !live.owner) return;
    rig.jump(cameraMotion.frame(rig.camera, live.state && live.state.bounds));
  }

  stateChanged(state) {
    const name = document.getElementById("name");
    name.textContent = state.name.replace(/.*[/\\]/, "");
    name.title = state.name;
    document.title = `${name.textContent} – Kandela`;
    this.showStatus();
    /* states that arrived while the camera moved hold the old one */
    const settled = performance.now() - this.sender.ended > 300;
    if (!settled && this.sender.idle) setTimeout(() => this.stateChanged(live.state), 350);
    const loaded = state.camera && state.camera.fov > 0; /* before, all its values are 0 */
    if (loaded && settled && this.sender.idle && !this.navigation.pointers.size && !this.navigation.flying) {
      const camera = cameraDecode(state.camera);
      if (JSON.stringify(camera) !== JSON.stringify(this.rig.camera)) {
        this.rig.camera = camera;
        this.showCamera();
        this.space.draw();
      }
      if (!this.firstCamera) this.firstCamera = this.recallFirst(camera);
    }
    if (this.generation !== undefined && this.generation !== state.generation) {
      this.clearPixel();
      this.clearWalk();
      if (this.space.chosen) this.clearLightPath();
    }
    this.generation = state.generation;
    const { crop } = this.picture;
    if (this.cropShown && this.cropShown !== crop.join() && this.picture.image) { /* of another part; the new one comes soon */
      this.picture.setImage(null);
      this.shownNumber = 0;
    }
    this.cropShown = crop.join();
    this.setChoosing(this.navigation.choosing);
    this.stage.style.setProperty("--tall", this.picture.size[1] / this.picture.size[0]); /* narrow windows fit the stage to the picture */
    this.applyRights();
    if (this.outdated && !document.hidden) this.refreshPicture();
  }

  /* True if the server has a newer picture of the channel that is shown. */
  get outdated() {
    const { state } = live, { channel } = this.picture.display;
    if (channel === "reference") return this.shownChannel !== channel;
    const number = channel === "denoised" ? (state.denoise || {}).picture : state.picture;
    return Boolean(number) && (number !== this.shownNumber || channel !== this.shownChannel);
  }

  showStatus() {
    const { state } = live, box = document.getElementById("status"), passes = document.getElementById("passes");
    const dead = !live.connected;
    document.getElementById("lost").hidden = !dead || !state;
    box.classList.toggle("error", Boolean(state && (dead || state.status === "failed")));
    if (!state) {
      box.textContent = dead ? "Connecting to the renderer" : "Connected";
      return;
    }
    const names = { rendering: "Rendering", paused: "Paused", done: "Done", failed: "Failed" };
    const parts = [`${names[state.status] || state.status}${state.error ? `: ${state.error}` : ""}`,
      state.pass === state.spp ? "" : `pass ${formatNumber(state.pass)}${state.passes ? ` of ${formatNumber(state.passes)}` : ""}`,
      `${formatNumber(state.spp)}${state.pass === state.spp && state.passes ? ` of ${formatNumber(state.passes)}` : ""} samples per pixel`, formatSeconds(state.seconds), state.integrator, state.device];
    box.textContent = dead ? "No connection to the renderer" : parts.filter(Boolean).join(", ");
    passes.max = state.passes || 1;
    passes.value = state.passes ? state.pass : state.status === "done" ? 1 : 0;
    const pause = document.getElementById("pause");
    pause.textContent = state.status === "paused" ? "Resume" : "Pause";
    const role = document.getElementById("role");
    role.hidden = state.owner;
    role.textContent = "Viewer, read only";
  }

  /* Controls that change the rendering act for the owner alone. */
  applyRights() {
    const { state } = live;
    if (!state) return;
    for (const control of document.querySelectorAll("[data-owner]")) control.disabled = !live.owner;
    for (const id of ["pause", "restart", "save", "region"]) document.getElementById(id).hidden = !state.owner;
    const tool = document.getElementById("tool"); /* a viewer moves the picture, and in 3-D the own camera */
    tool.disabled = !state.owner && this.mode !== "space";
    tool.value = tool.disabled ? "picture" : this.navigation.tool;
    document.getElementById("pause").disabled = !live.owner || state.status === "failed" || state.status === "done";
    this.showCamera();
  }

  async loadPicture() {
    if (!live.state || !live.state.picture) return; /* the rendering is being prepared */
    const { channel } = this.picture.display, begun = performance.now();
    const buffer = await getBinary(`/api/picture?channel=${encodeURIComponent(channel)}&scale=1`);
    const image = Picture.decode(buffer, channel);
    this.shownNumber = image.number;
    this.shownChannel = channel;
    if (channel === this.picture.display.channel) {
      this.picture.image = image;
      this.pictureCame();
      this.picture.setImage(image);
    }
    document.getElementById("empty").hidden = true;
    if (this.mode === "overlay") this.space.draw();
    /* leave the network and the renderer as much time as the picture took, and at least 50 ms */
    await new Promise(resolve => setTimeout(resolve, Math.max(50, performance.now() - begun)));
    if (live.state && this.outdated) this.refreshPicture();
  }

  afterPicture() {
    const view = this.picture.place(), ratio = devicePixelRatio || 1, marker = document.getElementById("marker");
    document.getElementById("zoom").textContent = `${Math.round(100 * view.scale)} %`;
    marker.hidden = !this.selected || this.mode === "space";
    if (this.selected) {
      marker.style.left = `${(view.left + (this.selected[0] + 0.5) * view.scale) / ratio}px`;
      marker.style.top = `${(view.top + (this.selected[1] + 0.5) * view.scale) / ratio}px`;
    }
    if (this.mode === "overlay") this.space.draw();
  }

  setMode(mode) {
    const changed = this.mode !== mode;
    this.mode = mode;
    document.querySelector(`input[name="mode"][value="${mode}"]`).checked = true;
    this.stage.classList.toggle("space", mode === "space");
    document.getElementById("space").hidden = mode === "picture";
    document.getElementById("zooming").hidden = mode === "space";
    if (mode === "space" && !this.freeRig.camera && this.rig.camera)
      this.freeRig.camera = this.overview();
    if (mode !== "picture" && changed) {
      this.photonsDetails.open = true;
      this.refreshPhotons(true);
    }
    if (changed) document.getElementById("readout").textContent = mode === "space" ? "Drag to turn the view; click a photon to see where it came from."
      : "Point at the picture to read its values; click to inspect a pixel.";
    this.picture.draw();
    this.space.draw();
    this.applyRights();
  }

  /* A view of the whole scene from the side of the picture's camera and above. */
  overview() {
    const { camera } = this.rig;
    return cameraMotion.frame(cameraMotion.orbit({ ...camera, fov: 40 }, camera.look_at, 0.5, -0.35), live.state && live.state.bounds);
  }

  hover(event) {
    const readout = document.getElementById("readout");
    if (this.mode === "space" || !this.picture.image) return;
    const [x, y] = this.picture.locate(event), value = this.picture.valueAt(x, y);
    if (!value) return;
    const parts = [`x ${Math.floor(x)}, y ${Math.floor(y)}: ${value.map(formatNumber).join(", ")}`];
    if (value.length === 3 && this.picture.mode !== 2)
      parts.push(`luminance ${formatNumber(0.2126 * value[0] + 0.7152 * value[1] + 0.0722 * value[2])}`);
    const kept = this.picture.comparing && this.picture.valueAt(x, y, this.picture.kept);
    if (kept) parts.push(`B: ${kept.map(formatNumber).join(", ")}`);
    readout.textContent = parts.join("; ");
    this.hoverPixel([x, y]);
  }

  tellDisc(x, y, { radius, photons }) {
    const readout = document.getElementById("readout");
    if (readout.textContent.startsWith(`x ${x}, y ${y}:`)) readout.textContent += `; disc of radius ${formatNumber(radius)} m with ${plural(photons.length, "photon")}`;
  }

  select(event) {
    if (this.mode === "space") {
      this.selectPhoton(event);
      return;
    }
    if (!this.picture.image) return;
    this.hover(event);
    const [x, y] = this.picture.locate(event), [width, height] = this.picture.size;
    if (x < 0 || y < 0 || x >= width || y >= height) return;
    clearTimeout(this.selecting); /* a double click is not two inspections */
    this.selecting = setTimeout(() => this.inspect(x, y), 250);
  }

  /* True if a part of the picture is rendered. */
  get cropped() {
    const { full, size } = this.picture;
    return size[0] < full[0] || size[1] < full[1];
  }

  /* The button renders all again if a region is rendered; else it lets the owner drag a rectangle. */
  toggleRegion() {
    if (this.cropped) this.sendRegion(null);
    else this.setChoosing(!this.navigation.choosing);
  }

  setChoosing(on) {
    const region = document.getElementById("region");
    this.navigation.choosing = Boolean(on && live.owner && this.mode !== "space");
    this.stage.classList.toggle("choosing", this.navigation.choosing);
    region.textContent = this.cropped ? "Whole picture" : "Region";
    region.title = this.cropped ? "Renders the whole picture again" : "Drag a rectangle: only this part is rendered";
    region.setAttribute("aria-pressed", String(this.navigation.choosing));
  }

  choose(start, event, ends) {
    const corners = [this.picture.locate({ clientX: start[0], clientY: start[1] }), this.picture.locate(event)], { size, crop } = this.picture;
    const edges = [Math.min, Math.max].flatMap((least, i) => [0, 1].map(k =>
      Math.max(0, Math.min(size[k], (i ? Math.ceil : Math.floor)(least(corners[0][k], corners[1][k]))))));
    const box = document.getElementById("rectangle"), view = this.picture.place(), ratio = devicePixelRatio || 1;
    box.hidden = ends;
    [["left", 0], ["top", 1]].forEach(([name, k]) => { box.style[name] = `${(view[name] + edges[k] * view.scale) / ratio}px`; });
    [["width", 0], ["height", 1]].forEach(([name, k]) => { box.style[name] = `${(edges[k + 2] - edges[k]) * view.scale / ratio}px`; });
    if (!ends) return;
    this.setChoosing(false);
    if (event.type === "pointerup" && edges[2] > edges[0] && edges[3] > edges[1]) this.sendRegion(edges.map((edge, i) => edge + crop[i & 1]));
  }

  async sendRegion(crop) {
    try {
      await post("/api/settings", { crop });
    } catch (error) {
      notify(error.message, true);
    }
  }

  selectPhoton(event) {
    const { space } = this, box = space.canvas.getBoundingClientRect(), ratio = space.canvas.width / box.width;
    const photon = space.pick((event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio);
    if (!photon) return;
    document.getElementById("readout").textContent =
      `Photon, ${mapTitle(mapNames[photon.map])}: ${plural(photon.bounce, "bounce")}, ${formatVector(photon.power)} W, at ${formatVector(photon.position)} m`;
    this.showPhotonPath({ ...photon, map: mapNames[photon.map] });
  }

  async focusEvent(event) {
    clearTimeout(this.selecting);
    if (this.mode === "space" || !this.picture.image) return;
    const [x, y] = this.picture.locate(event).map(Math.floor), [width, height] = this.picture.size;
    if (!live.owner || x < 0 || y < 0 || x >= width || y >= height) return;
    try {
      this.focusAt((await getJson(`/api/pixel?x=${x}&y=${y}`)).position);
    } catch (error) {
      notify(error.message, true);
    }
  }

  /* Makes a point the centre of motion and, if the camera has a lens, its focus. */
  focusAt(point) {
    if (!live.owner) return;
    if (!Array.isArray(point)) {
      notify("There is no surface at this pixel.", true);
      return;
    }
    const { camera } = this.rig, distance = vec3.dot(vec3.sub(point, camera.eye), cameraFrame(camera).forward);
    if (camera.lens_radius > 0) {
      this.rig.record();
      this.rig.set({ ...camera, focus_distance: distance });
    }
    this.rig.pivot = point;
    notify(camera.lens_radius > 0 ? `The focus is at ${formatNumber(distance)} m; the camera turns about this point.`
      : `The camera turns about this point, ${formatNumber(distance)} m away. With a lens radius above 0 it would be the focus.`);
  }

  key(event) {
    const view = /^[1-9]$/.test(event.key) && this.views()[Number(event.key) - 1], { owner } = live, modes = ["picture", "overlay", "space"];
    if (view) {
      if (owner) this.rig.jump(cameraDecode(view.camera));
      return true;
    }
    const click = id => document.getElementById(id).click();
    const action = {
      0: () => this.picture.fit(), "?": () => document.getElementById("help").showModal(), v: () => this.setMode(modes[(modes.indexOf(this.mode) + 1) % 3]),
      z: () => this.picture.zoom(1), h: () => this.showAll(), r: () => owner && this.resetCamera(), p: () => click("pause"),
      f: () => this.inspected && this.focusAt(this.inspected.position), c: () => this.toggleComparison(), n: () => click("denoise"),
      x: () => click("region"), g: () => click("show-photons"), l: () => click("show-light-paths"), b: () => click("show-boxes"),
    }[event.key.toLowerCase()];
    if (action) action();
    return Boolean(action);
  }

  async control(action) {
    try {
      const answer = await post("/api/control", { action });
      if (action === "save") notify(answer.files && answer.files.length ? `Written: ${answer.files.join(", ")}` : "Saved.");
    } catch (error) {
      notify(error.message, true);
    }
  }

  wire() {
    const on = (id, action, name = "click") => document.getElementById(id).addEventListener(name, action);
    const { picture } = this;
    on("pause", () => this.control(live.state && live.state.status === "paused" ? "resume" : "pause"));
    on("restart", () => this.control("restart"));
    on("save", () => this.control("save"));
    this.stage.addEventListener("pointerleave", () => this.hoverPixel(null));
    on("keys", () => document.getElementById("help").showModal());
    on("zoom-in", () => picture.zoom(picture.place().scale * 1.5));
    on("zoom-out", () => picture.zoom(picture.place().scale / 1.5));
    on("zoom-one", () => picture.zoom(1));
    on("zoom-fit", () => picture.fit());
    on("region", () => this.toggleRegion());
    on("tool", event => { this.navigation.tool = event.target.value; }, "change");
    for (const input of document.querySelectorAll("input[name='mode']")) input.addEventListener("change", () => this.setMode(input.value));
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && live.state && this.outdated) this.refreshPicture();
    });
    document.getElementById("help-table").append(element("tbody", {}, ...helpRows.map(([keys, text]) =>
      element("tr", {}, element("th", { textContent: keys, scope: "row" }), element("td", { textContent: text })))));
  }
}

addEventListener("DOMContentLoaded", () => {
  if (!token) {
    document.getElementById("status").textContent = "The address lacks the token that the program printed: open the whole address.";
    return;
  }
  try {
    window.kandela = new App();
  } catch (error) {
    document.getElementById("status").textContent = error.message;
    document.getElementById("status").className = "error";
  }
});
