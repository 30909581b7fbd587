/* Panels of the rendering: settings, lights, statistics, files. */
"use strict";

/* What people change most; other settings follow in a part of their own. */
const settingsFirst = ["integrator", "spp", "photons", "caustic_photons", "final_gather", "gather", "radius", "kernel",
  "alpha", "max_depth"];
const settingTitles = { spp: "Samples per pixel", gather: "Photons per estimate" };

function settingsPanel(app) {
  const { content } = panel("Settings", true);
  const box = element("div", { className: "content" }), hint = element("p", { className: "hint" });
  box.style.padding = "0";
  content.append(hint, box);
  const sender = new Sender("/api/settings", 300), controls = new Map();
  const more = element("div", { className: "content" }), moreBox = element("details", { className: "inner" }, element("summary", { textContent: "More settings" }), more);
  more.style.padding = "0";
  content.append(moreBox);
  const change = (name, value) => sender.send({ ...(sender.waiting || {}), [name]: value });
  let known = "";

  function make(setting) {
    const label = (settingTitles[setting.name] || setting.label || setting.name) + (setting.unit ? ` [${setting.unit}]` : ""), id = `setting-${setting.name}`;
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
      const first = settings.length <= 14 ? [...controls.keys()] : settingsFirst.filter(name => controls.has(name));
      const boxes = names => names.map(name => controls.get(name).box);
      box.replaceChildren(...boxes(first));
      more.replaceChildren(...boxes([...controls.keys()].filter(name => !first.includes(name))));
      moreBox.hidden = !more.children.length;
      app.applyRights();
    }
    for (const setting of settings) {
      const control = controls.get(setting.name);
      if (sender.idle && document.activeElement !== control.input && document.activeElement !== control.field) control.set(setting.value);
      for (const part of [control.input, control.field]) if (part) part.disabled = !state.owner;
    }
    hint.textContent = !settings.length ? "This rendering has no settings to change." : state.owner ? "A change begins the picture anew." : "Only the owner changes settings.";
  });
}

function lightsPanel() {
  const { content, details } = panel("Lights", false);
  const box = element("div", { className: "content" });
  box.style.padding = "0";
  content.append(box);
  const sender = new Sender("/api/lights", 250);
  let known = "", rows = [];
  const send = () => sender.send(rows.map(item => ({ name: item.name, scale: item.on.input.checked ? item.scale.value : 0 })));
  live.on("state", state => {
    const lights = state.lights || [];
    details.hidden = !lights.length;
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
      item.on.input.disabled = item.scale.input.disabled = !state.owner;
      if (!sender.idle || document.activeElement === item.scale.input) return;
      item.on.input.checked = light.scale > 0;
      if (light.scale > 0) item.scale.value = light.scale;
    });
  });
}

function statisticsPanel() {
  const { content, details } = panel("Statistics", false);
  const part = title => {
    const heading = element("h3", { textContent: title }), box = element("div", { className: "bars" });
    content.append(heading, box);
    return { heading, box };
  };
  const facts = element("table", {});
  content.append(facts);
  const stages = part("Where does the time go? [s]"), ledger = part("Where does the light go? [% of the emitted power]");
  const heading = element("h3", { textContent: "How fast does the error fall? [relative error over s]" });
  const chart = svgElement("svg", { class: "chart" });
  content.append(heading, chart);
  function show() {
    const { state } = live;
    if (!state || !details.open) return;
    const rows = [["Method", state.integrator], ["Device", state.device], ["Size", `${state.width} × ${state.height}`],
      ["Samples", `${formatNumber(state.spp)} per pixel`], ["Time", `${formatNumber(state.seconds)} s`]];
    for (const map of state.photon_maps || []) rows.push([`Photons, ${map.name}`, formatNumber(map.count)]);
    facts.replaceChildren(...rows.filter(item => item[1]).map(([title, text]) =>
      element("tr", {}, element("th", { textContent: title, scope: "row" }), element("td", { textContent: text }))));
    const most = Math.max(0, ...(state.stages || []).map(item => item.seconds)), shares = (state.ledger || []).filter(item => item.share);
    const times = (state.stages || []).filter(item => item.seconds > most / 500); /* others have no visible bar */
    showBars(stages.box, times.map(item => [item.name.replaceAll("_", " "), item.seconds, formatNumber(item.seconds)]));
    showBars(ledger.box, shares.map(item => [item.name, item.share, `${(100 * item.share).toFixed(1).replace("-", "−")} %`]));
    stages.heading.hidden = !times.length;
    ledger.heading.hidden = !shares.length;
    heading.hidden = chart.hidden = false;
    const drawn = showCurve(chart, (state.errors || []).map(item => [item.seconds, item.error]), "Relative error over seconds, both logarithmic");
    heading.hidden = !drawn;
    chart.toggleAttribute("hidden", !drawn);
  }
  details.addEventListener("toggle", show);
  live.on("state", show);
}

function filesPanel() {
  const { content } = panel("Files", false);
  const links = [["png", "Picture, PNG"], ["exr", "Picture and channels, OpenEXR"], ["scene", "Scene, JSON"]];
  content.append(element("ul", { className: "swatches" }, ...links.map(([kind, text]) => element("li", {},
    element("a", { href: `/api/file?kind=${kind}&token=${encodeURIComponent(token)}`, download: "", textContent: text })))));
}
