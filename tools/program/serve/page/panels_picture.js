/* Panels of the picture: display, comparison, camera. */
"use strict";

const channelTitles = { beauty: "radiance [W/(sr m²)]", denoised: "denoised radiance [W/(sr m²)]", reference: "reference [W/(sr m²)]", depth: "depth [m]",
  albedo: "albedo: share of light reflected", normal: "normals of surfaces", noise: "noise: standard error of the radiance", variance: "variance of a sample of the radiance", samples: "samples per pixel",
  triangle: "triangles", material: "materials", cost: "nodes of the tree that the pixel's ray visits", radius: "radius of the density estimate [m]",
  density: "photons per m²" };
const channelTitle = name => channelTitles[name] || name;
const componentNames = ["luminance", "red", "green", "blue"];

function displayPanel(app) {
  const { picture } = app, { display } = picture, { content } = panel("Display", true);
  const redraw = () => { picture.draw(); arrange(); };
  const channel = choice("Channel", ["beauty"], "beauty", value => setChannel(value), "channel");
  function setChannel(name) {
    display.channel = channel.select.value = name;
    app.refreshPicture();
  }
  app.setChannel = setChannel;
  /* The server removes noise in the background; its pictures come a little later than the noisy ones. */
  const denoise = check("Denoise", false, async checked => {
    if (!checked && display.channel === "denoised") setChannel("beauty");
    await app.control(checked ? "denoise" : "raw");
  }, "denoise");
  const waiting = element("p", { className: "hint", textContent: "The first denoised picture appears in a moment." });
  denoise.box.hidden = waiting.hidden = true;
  const exposure = slider("Exposure", {
    min: -10, max: 10, step: 0.1, value: 0, id: "exposure", text: stops => `${stops > 0 ? "+" : stops < 0 ? "−" : ""}${Math.abs(stops).toFixed(1)} EV`,
    changed: expose,
  });
  /* Until the exposure is set by hand, it follows the pictures if the scene asks for that. */
  let follows = false;
  function expose(stops) {
    follows = false;
    display.exposure = stops;
    redraw();
  }
  function exposeAutomatically() {
    if (!picture.image || picture.image.components < 3 || channelMode(picture.image.channel, 3)) return;
    exposure.value = Math.round(10 * automaticExposure(picture.image)) / 10;
    display.exposure = exposure.value;
  }
  app.pictureCame = () => { if (follows) exposeAutomatically(); };
  const automaticButton = button("Automatic exposure", () => {
    exposeAutomatically();
    expose(display.exposure);
  });
  const resetExposure = button("0 EV", () => {
    exposure.value = 0;
    expose(0);
  });
  const curve = choice("Tone curve", toneCurves, display.curve, value => { display.curve = value; redraw(); }, "curve");
  const falseColour = check("False colours", false, checked => { display.falseColour = checked; redraw(); }, "false-colour");
  const component = choice("Value", componentNames.map((title, i) => [i, title]), 0, value => { display.component = Number(value); redraw(); });
  const colours = choice("Colours", Object.keys(falseColours), display.colours, value => { display.colours = value; redraw(); });
  const logarithmic = check("Logarithmic scale", false, checked => { display.logarithmic = checked; redraw(); });
  const automatic = check("Scale from the picture (1 % to 99 % of the pixels)", true, checked => { display.automatic = checked; redraw(); });
  const limit = (title, key) => {
    const input = element("input", { type: "number", step: "any" });
    input.addEventListener("change", () => {
      if (Number.isFinite(input.valueAsNumber)) display[key] = input.valueAsNumber;
      display.automatic = automatic.input.checked = false;
      redraw();
    });
    return { box: element("label", {}, title, input), input };
  };
  const low = limit("Lowest", "low"), high = limit("Highest", "high");
  const limits = element("div", { className: "pair" }, low.box, high.box);
  const light = element("div", { className: "buttons" }, automaticButton, resetExposure);
  content.append(channel.box, denoise.box, waiting, exposure.box, light, curve.box, falseColour.box, component.box, colours.box, automatic.box, limits, logarithmic.box);

  /* Shows the controls that act on the channel. */
  function arrange() {
    const mode = picture.image ? channelMode(picture.image.channel, picture.image.components) : 0, scaled = picture.scaled;
    exposure.box.hidden = light.hidden = curve.box.hidden = mode !== 0 || (scaled && picture.comparing !== 4);
    falseColour.box.hidden = mode > 1;
    component.box.hidden = !scaled || picture.comparing >= 2 || mode === 3;
    for (const part of [colours.box, automatic.box, limits, logarithmic.box]) part.hidden = !scaled || (picture.comparing === 4 && part !== colours.box);
  }
  function legend() {
    const { image } = picture, box = document.getElementById("legend");
    arrange();
    box.hidden = !image || !picture.scaled;
    if (box.hidden) return;
    const bar = document.getElementById("legend-bar");
    bar.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(falseColourBytes(display.colours)), 256, 1), 0, 0);
    document.getElementById("legend-low").textContent = formatNumber(display.low);
    document.getElementById("legend-high").textContent = formatNumber(display.high);
    const title = channelTitle(image.channel);
    document.getElementById("legend-title").textContent =
      picture.comparing === 4 ? "FLIP: 0 is equal, 1 as different as can be" : picture.comparing === 2 ? `|A − B|, ${title}` : picture.comparing === 3 ? `|A − B| / B, ${title}`
        : image.components > 1 ? `${title}, ${componentNames[display.component]}` : title;
    for (const [part, key] of [[low, "low"], [high, "high"]])
      if (document.activeElement !== part.input) part.input.value = String(+display[key].toPrecision(4));
  }
  picture.afterDraw.push(legend);
  let known = "", begun = false, denoised = false;
  live.on("state", state => {
    const names = state.channels && state.channels.length ? state.channels : ["beauty"];
    if (names.join() !== known) {
      known = names.join();
      channel.fill(names.map(name => [name, channelTitle(name)]));
      if (!names.includes(display.channel)) display.channel = names[0];
      channel.select.value = display.channel;
    }
    const { available = false, on = false, picture: made = 0 } = state.denoise || {};
    denoise.box.hidden = !available;
    waiting.hidden = !on || made > 0;
    if (document.activeElement !== denoise.input || on === denoise.input.checked) denoise.input.checked = on;
    denoise.input.disabled = !live.owner;
    if (on && made && !denoised && display.channel === "beauty") setChannel("denoised"); /* once each time it is switched on */
    denoised = on && made > 0;
    if (!begun) { /* the display that the scene asks for */
      begun = true;
      follows = state.exposure === null; /* NAN in C */
      if (Number.isFinite(state.exposure)) exposure.value = display.exposure = state.exposure;
      if (toneCurves.includes(state.tonemap)) curve.select.value = display.curve = state.tonemap;
    }
  });
}

function comparePanel(app) {
  const { picture } = app, { display } = picture, { content, details } = panel("Compare", false);
  const keep = button("Keep this picture as B", () => {
    picture.keep();
    const state = live.state || {};
    about.textContent = `B: ${channelTitle(display.channel)}, ${plural(state.spp, "sample")} per pixel, ${formatSeconds(state.seconds)}`;
    view.select.disabled = split.input.disabled = false;
    set(1);
  });
  keep.id = "keep";
  /* The file of --reference is B from the start. */
  const useReference = button("Reference as B", () => loadReference(true));
  useReference.id = "use-reference";
  useReference.hidden = true;
  const loadReference = newestOnly(async show => {
    const image = Picture.decode(await getBinary("/api/picture?channel=reference&scale=1"), "reference");
    picture.setKept(image);
    about.textContent = "B: the reference.";
    view.select.disabled = split.input.disabled = false;
    if (show) set(1);
  });
  const about = element("p", { className: "hint", textContent: "Keep a picture, then change the settings: A is the picture of now." });
  const view = choice("Show", [[0, "A alone"], [1, "A left, B right"], [2, "absolute difference"], [3, "relative difference"], [4, "FLIP, perceived difference"]], 0, value => set(Number(value)), "compare");
  const split = slider("Dividing line", { min: 0, max: 1, step: 0.005, value: 0.5, text: x => `${Math.round(100 * x)} %`, changed: move, id: "split" });
  const errors = element("div", {});
  view.select.disabled = split.input.disabled = true;
  content.append(element("div", { className: "buttons" }, keep, useReference), about, view.box, split.box, errors);
  const handle = document.getElementById("handle");
  function set(value) {
    view.select.value = String(value);
    display.comparing = value;
    picture.draw();
  }
  app.toggleComparison = () => {
    if (picture.kept) set(display.comparing ? 0 : 1);
    else notify("Keep a picture as B first, under “Compare”.");
  };
  function move(x) {
    display.split = x;
    picture.draw();
  }
  live.on("state", state => {
    const has = (state.channels || []).includes("reference");
    useReference.hidden = !has;
    if (has && !picture.kept && !loadReference.tried) loadReference(false);
    loadReference.tried = has;
  });
  handle.addEventListener("pointerdown", event => {
    event.stopPropagation();
    handle.setPointerCapture(event.pointerId);
  });
  handle.addEventListener("pointermove", event => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    split.value = Math.min(1, Math.max(0, picture.locate(event)[0] / picture.size[0]));
    move(split.value);
  });
  picture.afterDraw.push(() => {
    handle.hidden = picture.comparing !== 1 || app.mode === "space";
    const place = picture.place(), ratio = devicePixelRatio || 1;
    handle.style.left = `${(place.left + display.split * picture.size[0] * place.scale) / ratio}px`;
    errors.replaceChildren(...(details.open && picture.kept && picture.image ? [differences()] : []));
  });
  function differences() {
    const { image, kept } = picture;
    const hint = text => element("p", { className: "hint", textContent: text });
    if (!comparable(image, kept)) return hint(`B is of the channel “${channelTitle(kept.channel)}”; choose it under “Display” to compare.`);
    if (image.width !== kept.width || image.height !== kept.height) return hint("A and B differ in size; the numbers come with the next whole picture.");
    let squares = 0, sum = 0, relative = 0, count = 0, lengths = 0;
    const { components } = image, pixels = image.width * image.height, step = Math.max(1, Math.floor(pixels / 1000000)) | 1;
    const each = visit => {
      for (let i = 0; i < pixels; i += step) {
        let difference = 0, length = 0, signed = 0;
        for (let c = 0; c < Math.min(3, components); c++) {
          const b = halfTable[kept.values[i * components + c]], d = halfTable[image.values[i * components + c]] - b;
          difference += d * d;
          length += b * b;
          signed += d;
        }
        if (Number.isFinite(difference)) visit(difference, length, signed);
      }
    };
    each((difference, length, signed) => {
      squares += difference;
      sum += signed;
      lengths += Math.sqrt(length);
      count++;
    });
    if (!count) return hint("A and B have no finite values in common.");
    const floor = (lengths / count / 20) ** 2 || 1e-30;
    each((difference, length) => { relative += difference / (length + floor); });
    const values = count * Math.min(3, components);
    return factTable([["Mean FLIP", picture.comparing === 4 ? formatNumber(picture.flip.mean) : null], ["RMSE", formatNumber(Math.sqrt(squares / values))],
      ["relMSE", formatNumber(relative / count)], ["Mean of A − B", formatNumber(sum / values)]]);
  }
}

function cameraPanel(app) {
  const { content } = panel("Camera", true);
  const undo = button("Undo", () => app.rig.undo(), true), redo = button("Redo", () => app.rig.redo(), true);
  const reset = button("Reset", () => app.resetCamera(), true), all = button("Show all", () => app.showAll());
  reset.title = "The camera that the scene began with";
  all.title = "Moves back until the whole scene is seen";
  const target = element("p", { className: "hint" });
  const views = element("div", { className: "buttons" });
  const title = element("input", { type: "text", maxlength: "40", placeholder: "Name of this view" });
  title.setAttribute("aria-label", "Name of this view");
  const keepView = button("Keep view", () => {
    const list = kept(), name = title.value.trim() || `View ${list.length + 1}`;
    remember(key(), JSON.stringify([...list.filter(view => view.name !== name), { name, camera: app.rig.camera }]));
    title.value = "";
    showViews();
  });
  const lens = (label, key, options) => slider(label, { ...options, changed(value) {
    app.rig.record(700);
    app.rig.set({ ...app.rig.camera, [key]: value });
  } });
  const fov = lens("Field of view", "fov", { min: 5, max: 140, step: 1, value: 40, text: x => `${x}°`, id: "fov" });
  const radius = lens("Lens radius", "lens_radius", { min: 0, max: 1, value: 0, text: x => `${formatNumber(x)} m` });
  const focus = lens("Focus distance", "focus_distance", { min: 0, max: 10, value: 0, text: x => x ? `${formatNumber(x)} m` : "target" });
  for (const part of [fov, radius, focus]) part.input.dataset.owner = "";
  const text = element("textarea", { rows: 7, spellcheck: false });
  text.setAttribute("aria-label", "The camera as in a scene file");
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(text.value);
      notify("The camera is in the clipboard.");
    } catch {
      text.select();
      notify("Press Ctrl+C to copy the marked text.");
    }
  });
  const apply = button("Apply", () => {
    try {
      const read = JSON.parse(text.value);
      app.rig.jump(cameraDecode(read.camera || read));
      text.blur();
    } catch (error) {
      notify(`The text is not a camera in JSON: ${error.message}`, true);
    }
  }, true);
  content.append(target, element("div", { className: "buttons" }, undo, redo, reset, all),
    fov.box, radius.box, focus.box, element("h3", { textContent: "Views" }), views,
    element("div", { className: "buttons" }, title, keepView),
    element("details", { className: "inner" }, element("summary", { textContent: "As in a scene file" }), text,
      element("div", { className: "buttons" }, copy, apply)));

  const key = () => `kandela-views-${live.state ? live.state.name : ""}`;
  const kept = () => {
    try {
      return JSON.parse(recall(key()) || "[]");
    } catch {
      return [];
    }
  };
  app.views = () => [...(live.state && live.state.views || []), ...kept()];
  let shownViews = "";
  function showViews() {
    const list = app.views(), text = JSON.stringify(list) + live.owner;
    if (text === shownViews) return;
    shownViews = text;
    views.replaceChildren(...list.map(view => {
      const made = button(view.name, () => app.rig.jump(cameraDecode(view.camera)), true);
      made.disabled = !live.owner;
      return made;
    }));
    if (!list.length) views.append(element("p", { className: "hint", textContent: "No views yet." }));
  }
  app.showCamera = () => {
    const { camera } = app.rig;
    if (!camera) return;
    fov.box.hidden = camera.orthographic > 0;
    radius.limit = app.sceneSize / 20 || 1;
    focus.limit = Math.max(camera.focus_distance, app.sceneSize || 1);
    for (const [part, name] of [[fov, "fov"], [radius, "lens_radius"], [focus, "focus_distance"]])
      if (document.activeElement !== part.input) part.value = camera[name];
    if (document.activeElement !== text) text.value = cameraText(camera);
    undo.disabled = !live.owner || !app.rig.past.length;
    redo.disabled = !live.owner || !app.rig.future.length;
  };
  live.on("state", () => {
    showViews();
    target.textContent = live.owner ? "Drag in the picture to orbit; double click sets the focus and the centre of motion."
      : "You are a viewer: the owner moves the camera. The 3-D view has a camera of your own.";
    app.showCamera();
  });
}
