/* Panels of the rendering: settings, lights, statistics, files. */
"use strict";

/* Settings by what they belong to; others are listed last. The titles say what the options' names mean. */
const settingGroups = [
  ["", ["integrator", "spp", "time", "target_error"]],
  ["Photons", ["photons", "caustic_photons", "media_photons", "gather", "radius", "alpha", "kernel", "estimator", "final_gather", "passes", "media"]],
  ["Paths", ["max_depth", "max_specular", "clamp", "regularise"]],
  ["Picture", ["width", "height", "filter", "look", "material", "channel", "seed"]],
];
const settingTitles = {
  integrator: "Method", spp: "Samples per pixel", time: "Time limit", target_error: "Target error", photons: "Indirect photons", caustic_photons: "Caustic photons",
  media_photons: "Photons in fog", gather: "Photons per disc", radius: "Largest radius", alpha: "Radius reduction", kernel: "Weights in the disc", estimator: "Disc encloses",
  final_gather: "Gather rays", passes: "Passes of sppm", media: "Fog stores", max_depth: "Most bounces", max_specular: "Mirror bounces", clamp: "Clamp light", regularise: "Least roughness",
  look: "Light if none", material: "All surfaces", channel: "Debug shows", seed: "Random seed", batches: "Emit in batches",
};
const settingUnits = { seconds: "s", "scene units": "m", "W/(sr m^2)": "W/(sr m²)" };

function settingsPanel(app) {
  const { content } = panel("Settings", true);
  const box = element("div", { className: "content flush" }), hint = element("p", { className: "hint" });
  content.append(hint, box);
  const sender = new Sender("/api/settings", 300), controls = new Map();
  const change = (name, value) => sender.send({ ...(sender.waiting || {}), [name]: value });
  let known = "";

  function make(setting) {
    const label = (settingTitles[setting.name] || setting.label || setting.name) + (setting.unit ? ` [${settingUnits[setting.unit] || setting.unit}]` : ""), id = `setting-${setting.name}`;
    if (setting.type === "flag") {
      const made = check(label, Boolean(setting.value), checked => change(setting.name, checked), id);
      return { box: made.box, input: made.input, set: value => { made.input.checked = Boolean(value); } };
    }
    if (setting.type === "choice") {
      const made = choice(label, setting.choices || [], setting.value, value => change(setting.name, value), id);
      return { box: made.box, input: made.select, set: value => { made.select.value = String(value); } };
    }
    return number(setting, label, id);
  }

  /* A slider with a field beside it; sliders over three decades or more are logarithmic. */
  function number(setting, label, id) {
    const whole = setting.type === "integer", bounded = Number.isFinite(setting.min) && Number.isFinite(setting.max);
    const field = element("input", { type: "number", step: whole ? "1" : "any", value: String(setting.value) });
    if (Number.isFinite(setting.min)) field.min = String(setting.min);
    if (Number.isFinite(setting.max)) field.max = String(setting.max);
    field.setAttribute("aria-label", label);
    const low = bounded ? setting.min : 0, high = bounded ? setting.max : 1;
    const logarithmic = bounded && low >= 0 && high / Math.max(low, whole ? 1 : high * 1e-4) >= 1000;
    const floor = logarithmic ? Math.max(low, whole ? 1 : high * 1e-4) : low;
    const to = x => logarithmic ? Math.log(Math.max(x, floor)) : x, from = x => logarithmic ? Math.exp(x) : x;
    const round = x => whole ? Math.round(x) : Number(x.toPrecision(3));
    const range = element("input", { type: "range", min: String(to(floor)), max: String(to(high)), id,
      step: whole && !logarithmic ? "1" : String((to(high) - to(floor)) / 500) });
    const set = value => {
      range.value = String(to(value));
      range.setAttribute("aria-valuetext", formatNumber(value));
      if (document.activeElement !== field) field.value = String(+Number(value).toPrecision(6));
    };
    range.addEventListener("input", () => {
      const value = Math.min(high, Math.max(low, round(from(Number(range.value)))));
      field.value = String(value);
      range.setAttribute("aria-valuetext", formatNumber(value));
      change(setting.name, value);
    });
    field.addEventListener("change", () => {
      if (!field.checkValidity() || field.value === "") {
        notify(`${label}: ${field.validationMessage || "a number is missing"}`, true);
        return;
      }
      range.value = String(to(field.valueAsNumber));
      change(setting.name, field.valueAsNumber);
    });
    set(setting.value);
    if (!bounded) return { box: row(label, field), input: field, set };
    return { box: row(label, range, field), input: range, field, set };
  }

  live.on("state", state => {
    const settings = state.settings || [];
    const shape = JSON.stringify(settings.map(({ value, ...rest }) => rest));
    if (shape !== known) {
      known = shape;
      controls.clear();
      for (const setting of settings) {
        const control = make(setting);
        if (setting.help) control.box.title = setting.help;
        controls.set(setting.name, control);
      }
      const grouped = settingGroups.flatMap(([, names]) => names), open = box.querySelectorAll("details[open]").length;
      const groups = [...settingGroups, ["Other", [...controls.keys()].filter(name => !grouped.includes(name))]];
      box.replaceChildren(...groups.flatMap(([title, names]) => {
        const boxes = names.filter(name => controls.has(name)).map(name => controls.get(name).box);
        if (!title || !boxes.length) return boxes;
        const part = element("details", { className: "inner" }, element("summary", { textContent: title }), element("div", { className: "content flush" }, ...boxes));
        part.open = open > 0 || (title === "Photons" && photonMethods.includes(state.integrator));
        return [part];
      }));
      app.applyRights();
    }
    for (const setting of settings) {
      const control = controls.get(setting.name);
      if (sender.idle && document.activeElement !== control.input && document.activeElement !== control.field) control.set(setting.value);
      for (const part of [control.input, control.field]) if (part) part.disabled = !live.owner;
    }
    hint.textContent = !settings.length ? "This rendering has no settings to change." : state.owner ? "A change begins the picture anew." : "Only the owner changes settings.";
  });
}

function lightsPanel() {
  const { content, details } = panel("Lights", false);
  const box = element("div", { className: "content flush" }), hint = element("p", { className: "hint" });
  content.append(hint, box);
  const sender = new Sender("/api/lights", 250);
  let known = "", rows = [];
  const send = () => sender.send(rows.map(item => ({ name: item.name, scale: item.on.input.checked ? item.scale.value : 0 })));
  live.on("state", state => {
    const lights = state.lights || [];
    details.hidden = !lights.length;
    const sums = state.light_groups === "sum";
    sender.interval = sums ? 60 : 250;
    hint.textContent = !state.owner ? "Only the owner changes lights." : sums ? `A change acts at once: the renderer keeps the light of each by itself${state.light_groups_bytes ? ` (${formatBytes(state.light_groups_bytes)})` : ""}.`
      : state.light_groups_reason ? `Each change begins the picture anew: ${state.light_groups_reason}.` : "The first change begins the picture anew; further ones act at once.";
    const shape = lights.map(light => light.name).join("\n");
    if (shape !== known) {
      known = shape;
      rows = lights.map((light, i) => ({
        name: light.name, on: check(light.name, light.scale > 0, send),
        scale: slider(`Scale of ${light.name}`, { min: 0, max: 4, step: 0.05, value: light.scale || 1, text: x => `× ${x.toFixed(2)}`, changed: send, id: `light-${i}` }),
      }));
      box.replaceChildren(...rows.map(item => element("div", { className: "row" }, item.on.box, item.scale.input, item.scale.box.lastChild)));
    }
    lights.forEach((light, i) => {
      const item = rows[i];
      item.on.input.disabled = item.scale.input.disabled = !live.owner;
      if (!sender.idle || document.activeElement === item.scale.input) return;
      item.on.input.checked = light.scale > 0;
      if (light.scale > 0) item.scale.value = light.scale;
    });
  });
}

const stageTitles = { load: "load the scene", build: "build the tree", hash: "check sums", emit: "trace photons", photon_tree: "sort photons",
  surface: "light on surfaces", render: "render", develop: "make the picture", write: "write files", save: "save" };
const ledgerTitles = { absorbed: "absorbed by surfaces", media: "absorbed in fog", escaped: "leaves the scene", ended: "random ends, 0 on average" };

function statisticsPanel(app) {
  const { content, details } = panel("Statistics", false);
  const part = title => {
    const heading = element("h3", { textContent: title }), box = element("div", { className: "bars" });
    content.append(heading, box);
    return { heading, box };
  };
  const facts = element("div", {});
  content.append(facts);
  const stages = part("Where does the time go?"), ledger = part("Where does the photons’ light go?");
  const heading = element("h3", { textContent: "How fast does the error fall?" });
  const chart = svgElement("svg", { class: "chart" }), latest = element("p", { className: "hint", id: "error-now" });
  const noise = button("Show the noise", () => app.setChannel(app.picture.display.channel === "noise" ? "beauty" : "noise"));
  noise.id = "show-noise";
  content.append(heading, chart, latest, element("div", { className: "buttons" }, noise));
  const percent = share => `${(100 * share).toFixed(Math.abs(share) < 0.001 && share ? 2 : 1).replace("-", "−")} %`;
  function show() {
    const { state } = live;
    if (!state || !details.open) return;
    const [x0, y0, x1, y1] = state.crop || [0, 0, state.width, state.height], cropped = x1 - x0 < state.width || y1 - y0 < state.height;
    facts.replaceChildren(factTable([["Method", state.integrator], ["Device", state.device], ["Size", `${state.width} × ${state.height} pixels`],
      ["Rendered part", cropped ? `${x1 - x0} × ${y1 - y0} pixels` : ""], ["Samples", `${formatNumber(state.spp)} per pixel`], ["Time", formatSeconds(state.seconds)],
      ...(state.photon_maps || []).map(map => [`Photons: ${mapTitle(map.name)}`, formatNumber(map.count)])]));
    const most = Math.max(0, ...(state.stages || []).map(item => item.seconds)), shares = (state.ledger || []).filter(item => item.share);
    const times = (state.stages || []).filter(item => item.seconds > most / 500); /* others have no visible bar */
    showBars(stages.box, times.map(item => [stageTitles[item.name] || item.name, item.seconds, formatSeconds(item.seconds)]));
    showBars(ledger.box, shares.map(item => [ledgerTitles[item.name] || item.name, item.share, percent(item.share)]), 1);
    stages.heading.hidden = !times.length;
    ledger.heading.hidden = !shares.length;
    const target = ((state.settings || []).find(item => item.name === "target_error") || {}).value || 0, errors = state.errors || [];
    const drawn = showCurve(chart, errors.map(item => [item.seconds, item.error]),
      { label: "Relative error over the time in seconds, both logarithmic", x: "time [s]", target, text: percent });
    heading.hidden = latest.hidden = !drawn;
    chart.toggleAttribute("hidden", !drawn);
    if (drawn) latest.textContent = `Relative error now: ${percent(errors[errors.length - 1].error)}${target > 0 ? `; target: ${percent(target)}` : ""}.`;
    const has = (state.channels || []).includes("noise");
    noise.hidden = !has;
    noise.textContent = app.picture.display.channel === "noise" ? "Show the picture" : "Show the noise";
  }
  details.addEventListener("toggle", show);
  live.on("state", show);
}

function filesPanel() {
  const { content } = panel("Files", false);
  const links = [["png", "Picture, PNG"], ["exr", "Picture and channels, OpenEXR"], ["state", "State, to resume"], ["scene", "Camera and settings, JSON"]];
  async function download(kind) {
    try {
      const answer = await request(`/api/file?kind=${kind}`), url = URL.createObjectURL(await answer.blob());
      element("a", { href: url, download: answer.headers.get("Content-Disposition").match(/"(.+)"/)[1] }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60000);
    } catch (error) {
      notify(error.message, true);
    }
  }
  content.append(element("div", { className: "buttons" }, ...links.map(([kind, text]) => Object.assign(button(text, () => download(kind)), { id: `file-${kind}` }))),
    element("p", { className: "hint", textContent: "kandela render SCENE -o picture.exr --resume goes on from the state picture.exr.state." }));
}
