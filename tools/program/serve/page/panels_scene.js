/* Panels of the scene: photons, light paths, and the pixel that was clicked. */
"use strict";

/* The maps in the order of the numbers that photons carry. */
const mapNames = ["global", "caustic", "volume", "beams", "vertices"];
const mapTitles = { global: "indirect light", caustic: "caustics", volume: "in fog and smoke", beams: "beams in fog and smoke", vertices: "light paths of vcm" };
const mapTitle = name => mapTitles[name] || name;
const photonMethods = ["photon", "sppm", "vcm"];

/* The name of a light source, by the number that its photons carry: known from the light paths. */
const lightNames = new Map();
const lightTitle = (number, group = -1) => {
  const named = live.state && live.state.lights[group];
  return named ? named.name : lightNames.get(number & 255) || `light ${number}`;
};

function photonsPanel(app) {
  const { space } = app, { options } = space, { content, details } = panel("Photons", false);
  app.photonsDetails = details;
  const nice = x => Number(x.toPrecision(2));
  const map = choice("Map", [["", "all maps"]], "", () => app.refreshPhotons(true), "photon-map");
  const limit = slider("At most", { min: 1000, max: 2000000, value: 200000, logarithmic: true, text: x => formatNumber(nice(x)), changed: () => later(), id: "photon-limit" });
  const size = slider("Point size", { min: 1, max: 10, step: 0.5, value: options.pointSize, text: x => `${x} px`, changed(x) { options.pointSize = x; space.draw(); }, id: "point-size" });
  const opacity = slider("Opacity", { min: 0.05, max: 1, step: 0.05, value: options.opacity, text: x => `${Math.round(100 * x)} %`, changed(x) { options.opacity = x; space.draw(); } });
  const colouring = choice("Colour by", [[0, "power"], [1, "bounces"], [2, "light"], [3, "map"]], 0, value => {
    options.colouring = Number(value);
    if (options.colouring === 2 && !lightNames.size) learnLights();
    key();
    space.draw();
  }, "colouring");
  const legend = element("ul", { className: "swatches" });
  const shown = check("Show photons", true, checked => { options.showPhotons = checked; space.draw(); }, "show-photons");
  const hide = check("Hide photons behind surfaces", true, checked => { options.hideCovered = checked; space.draw(); });
  const follow = check("Load those of each new pass", true, () => app.refreshPhotons());
  const free = check("3-D view with a camera of its own", true, checked => { app.freeCamera = checked; app.setMode(app.mode); });
  const count = element("p", { className: "hint", id: "photon-count", textContent: "Choose “Overlay” or “3-D” to load photons." });
  content.append(count, map.box, limit.box, size.box, opacity.box, colouring.box, legend, shown.box, hide.box, follow.box, free.box);

  let timer = 0, fetched = "";
  function later() {
    clearTimeout(timer);
    timer = setTimeout(() => app.refreshPhotons(true), 300);
  }
  const tell = () => {
    const { count: got, total } = space.photons, beams = space.beams.length, drawn = Math.min(space.drawn, got);
    const { integrator } = live.state || {};
    count.textContent = got || beams ? [got ? `${formatNumber(drawn)} of ${plural(total, "photon")} are drawn` : "", beams ? `${plural(beams, "beam")} as lines` : ""].filter(Boolean).join(", ") + "."
      : photonMethods.includes(integrator) ? "The photons appear here as soon as the renderer has traced them."
        : `The method ${integrator} has no photons; choose photon, sppm or vcm under “Settings”.`;
  };
  space.afterDraw.push(tell);
  const load = newestOnly(async () => {
    const maps = (live.state.photon_maps || []).filter(item => item.count && (!map.select.value || map.select.value === item.name));
    const points = maps.filter(item => item.name !== "beams"), all = points.reduce((sum, item) => sum + item.count, 0), most = nice(limit.value), answers = [];
    for (const item of points) /* each map gets its share of the points */
      answers.push(await getBinary(`/api/photons?map=${encodeURIComponent(item.name)}&limit=${Math.max(1, Math.round(most * item.count / all))}&paths=1`));
    space.setPhotons(answers);
    space.setBeams(maps.length > points.length ? await getBinary(`/api/photons?map=beams&limit=${Math.min(most, 20000)}`) : null);
    tell();
    key();
  });
  async function learnLights() {
    const found = (live.state.photon_maps || []).find(item => item.light_paths);
    if (!found) return;
    try {
      decodeLightPaths(await getBinary(`/api/light_paths?map=${encodeURIComponent(found.name)}&count=200`)).forEach(app.learnLight);
    } catch { /* the lights keep their numbers */ }
    key();
  }
  app.learnLight = ({ light, group }) => {
    if (group >= 0 && live.state.lights[group]) lightNames.set(light & 255, live.state.lights[group].name);
  };
  /* The depths that hide photons are those of one camera: space.depthGeneration says which. */
  const loadDepth = newestOnly(async () => {
    const { generation } = live.state;
    if (space.depthGeneration === generation) return;
    space.setDepth(Picture.decode(await getBinary("/api/picture?channel=depth&scale=1"), "depth"));
    space.depthGeneration = generation;
  });
  let next = 0;
  /* Loads photons if they are shown and new; a download takes at most a fifth of the time. */
  app.refreshPhotons = async now => {
    const { state } = live;
    if (app.mode === "picture" || !state || !(now || follow.input.checked)) return;
    if (app.mode === "overlay" && state.pass > 0 && (state.channels || []).includes("depth")) loadDepth();
    const passes = ["sppm", "vcm"].includes(state.integrator) ? state.pass : ""; /* other methods keep their maps */
    const version = `${state.generation} ${passes} ${JSON.stringify(state.photon_maps)}`, begun = performance.now();
    if (!now && (version === fetched || begun < next)) return;
    fetched = version;
    next = begun + 2000;
    await load();
    next = Math.max(next, begun + 5 * (performance.now() - begun));
  };
  function key() {
    const { classes } = space.photons;
    if (!classes || options.colouring === 0) {
      legend.replaceChildren();
      return;
    }
    const title = i => options.colouring === 1 ? plural(i, "bounce") : options.colouring === 2 ? lightTitle(i) : mapTitle(mapNames[i] || `map ${i}`);
    legend.replaceChildren(...classes[options.colouring - 1].slice(0, 16).map(i => {
      const swatch = element("span", { className: "swatch" });
      swatch.style.background = classColours[i & 7];
      return element("li", {}, swatch, title(i));
    }));
  }
  let known = "";
  live.on("state", state => {
    const maps = state.photon_maps || [], names = maps.map(item => item.name).join();
    if (names !== known) {
      known = names;
      const value = map.select.value;
      map.fill([["", "all maps"], ...maps.map(item => [item.name, mapTitle(item.name)])]);
      map.select.value = maps.some(item => item.name === value) ? value : "";
    }
    if (!space.photons.count && app.mode !== "picture") tell();
    app.refreshPhotons();
  });
}

/* Light paths from their source through all bounces: many at once, or that of one photon. */
function lightPathsPanel(app) {
  const { space } = app, { options } = space, { content, details } = panel("Light paths", false);
  const map = choice("Map", [], "", () => { if (showing) load(); }, "light-path-map");
  const nice = x => Number(x.toPrecision(1));
  const many = slider("Paths", { min: 1, max: 2000, value: 100, logarithmic: true, text: x => formatNumber(nice(x)), changed: () => { if (showing) load(); }, id: "light-path-count" });
  const bounces = slider("Up to bounce", { min: 0, max: 8, step: 1, value: 8, text: x => formatNumber(Math.round(x)), changed(x) { options.bounces = Math.round(x) === bounces.most ? allBounces : Math.round(x); space.draw(); }, id: "light-path-bounces" });
  const show = button("Show light paths", () => app.showLightPaths(!showing)), remove = button("Remove the marked one", () => choose(null));
  show.id = "show-light-paths";
  const about = element("p", { className: "hint" }), one = element("div", { className: "content flush" });
  content.append(about, map.box, many.box, bounces.box, element("div", { className: "buttons" }, show, remove), one);
  let showing = false, fetched = "", next = 0;

  const load = newestOnly(async () => {
    const lightPaths = decodeLightPaths(await getBinary(`/api/light_paths?map=${encodeURIComponent(map.select.value)}&count=${nice(many.value)}`));
    lightPaths.forEach(app.learnLight);
    if (!showing) return;
    bounces.limit = Math.max(1, ...lightPaths.flatMap(lightPath => lightPath.points.map(point => point.bounce)));
    if (options.bounces === allBounces) bounces.value = bounces.most;
    space.setLightPaths(lightPaths, space.chosen);
    arrange();
  });
  app.showLightPaths = on => {
    if (on && !map.select.value) {
      notify("The renderer has no light paths now; the methods photon, sppm and vcm have them.", true);
      return;
    }
    showing = on;
    if (on) {
      details.open = true;
      if (app.mode === "picture") app.setMode("overlay");
      load();
    } else space.setLightPaths([], space.chosen);
    arrange();
  };
  /* Marks the path of one photon, and tells its steps. */
  const follow = newestOnly(async photon => {
    const [lightPath] = decodeLightPaths(await getBinary(`/api/light_paths?map=${encodeURIComponent(photon.map)}&path=${photon.path}`));
    if (!lightPath) return;
    app.learnLight(lightPath);
    details.open = true;
    if (app.mode === "picture") app.setMode("overlay");
    choose(lightPath, photon);
  });
  app.showPhotonPath = photon => {
    const found = (live.state.photon_maps || []).find(item => item.name === photon.map);
    if (found && found.light_paths && photon.path !== undefined) follow(photon);
  };
  function choose(lightPath, photon) {
    space.setLightPaths(space.lightPaths, lightPath);
    one.replaceChildren();
    if (lightPath) {
      const rows = lightPath.points.map(({ kind, power, stored }, i) => [i, (i === 0 ? `from ${lightTitle(lightPath.light, lightPath.group)}` : kindNames[kind] || "") + (stored ? ", photon" : ""), formatVector(power)]);
      const list = element("div", { className: "scroller", tabindex: "0", role: "region" }, table(["Step", "Where", "Power [W]"], rows));
      const near = ({ position, stored }) => photon && stored && position.every((x, k) => Math.abs(x - photon.position[k]) <= 1e-5 * (1 + Math.abs(x)));
      list.querySelectorAll("tbody tr").forEach((item, i) => item.classList.toggle("now", Boolean(near(lightPath.points[i]))));
      list.setAttribute("aria-label", "Steps of the marked light path");
      one.append(element("h3", { textContent: `Light path ${lightPath.path}` }),
        ...(photon ? [element("p", { className: "hint", textContent: `The photon has made ${plural(photon.bounce, "bounce")} and comes from ${lightTitle(lightPath.light, lightPath.group)}.` })] : []), list);
    }
    arrange();
  }
  app.clearLightPath = () => choose(null);
  function arrange() {
    show.textContent = showing ? "Hide light paths" : "Show light paths";
    remove.disabled = !space.chosen;
    about.textContent = !map.select.value ? "The renderer has no light paths now; the methods photon, sppm and vcm have them."
      : showing && space.lightPaths.length ? `${plural(space.lightPaths.length, "path")} of the light, coloured as the photons are. Click a photon in the 3-D view to mark its own.`
        : "Paths of light from its sources through all bounces. Click a photon in the 3-D view to mark its own.";
    show.disabled = !map.select.value;
  }
  let known = "";
  live.on("state", state => {
    const maps = (state.photon_maps || []).filter(item => item.light_paths && item.count), names = maps.map(item => item.name).join();
    if (names !== known) {
      known = names;
      const { value } = map.select;
      map.fill(maps.map(item => [item.name, mapTitle(item.name)]));
      map.select.value = maps.some(item => item.name === value) ? value : maps.length ? maps[0].name : "";
      arrange();
    }
    const version = `${state.generation} ${names}`, now = performance.now();
    if (!showing || !names || version === fetched || now < next || app.mode === "picture") return;
    [fetched, next] = [version, now + 2000];
    load();
  });
  arrange();
}

function pixelPanel(app) {
  const { space, picture } = app, { content, details } = panel("Pixel", false);
  const place = element("p", { className: "hint", textContent: "Click a pixel of the picture." });
  /* Of progressive methods, whose discs shrink from pass to pass. */
  const history = [], radii = element("div", { hidden: true }), chart = svgElement("svg", { class: "chart" });
  radii.append(element("h3", { textContent: "How fast does the disc shrink? [radius in m]" }), chart);
  const facts = element("div", {}), photons = element("div", { className: "scroller", tabindex: "0", role: "region" });
  photons.setAttribute("aria-label", "Photons of the disc");
  const focus = button("Focus here", () => app.focusAt(app.inspected && app.inspected.position), true);
  const face = button("Look here", () => {
    if (app.inspected && app.inspected.position) app.rig.jump(cameraMotion.face(app.rig.camera, app.inspected.position));
  }, true);
  const ray = button("Follow the ray", () => app.followRay());
  const x = element("input", { type: "number", min: "0" }), y = element("input", { type: "number", min: "0" });
  const go = button("Inspect", () => {
    if (x.value !== "" && y.value !== "") app.inspect(Number(x.value), Number(y.value));
  });
  go.id = "inspect";
  x.id = "pixel-x";
  y.id = "pixel-y";
  const hover = check("Disc under the mouse in “Overlay”", true, checked => { if (!checked) app.hoverPixel(null); }, "hover-disc");
  const tiles = check("Tiles of the surface in the disc", true, () => showDisc(app.inspected), "disc-tiles");
  tiles.box.title = "The triangles over which the weights of photons are integrated; light reaches the blue ones";
  content.append(place, element("div", { className: "pair" }, element("label", {}, "x", x), element("label", {}, "y", y)),
    element("div", { className: "buttons" }, go, focus, face, ray), hover.box, tiles.box, facts, radii, photons);
  app.inspect = newestOnly(async (column, line) => {
    const [width, height] = picture.size;
    column = Math.min(width - 1, Math.max(0, Math.floor(column)));
    line = Math.min(height - 1, Math.max(0, Math.floor(line)));
    app.selected = [column, line];
    x.value = String(column);
    y.value = String(line);
    details.open = true;
    picture.draw();
    history.length = 0;
    show(await getJson(`/api/pixel?x=${column}&y=${line}`));
  });
  let next = 0, asked = 0;
  const again = newestOnly(async () => {
    const [column, line] = app.selected, { generation } = live.state;
    let answer = null;
    try {
      answer = await getJson(`/api/pixel?x=${column}&y=${line}`);
    } catch { /* the renderer is busy */ }
    if (answer && app.selected && app.selected[0] === column && app.selected[1] === line && generation === live.state.generation) show(answer);
  });
  live.on("state", state => {
    const now = performance.now();
    if (!app.selected || !details.open || !["sppm", "vcm"].includes(state.integrator) || now < next || asked === state.picture) return;
    [next, asked] = [now + 1000, state.picture];
    again();
  });
  function show(answer) {
    app.inspected = answer;
    place.textContent = `Pixel ${app.selected.join(", ")}`;
    const found = answer.photons || [];
    facts.replaceChildren(factTable([["Value", formatVector(answer.value)], ["Depth [m]", formatNumber(answer.depth)], ["Position [m]", formatVector(answer.position)],
      ["Normal", formatVector(answer.normal)], ["Object", answer.object], ["Material number", answer.material], ["Triangle number", answer.triangle],
      ["Disc radius [m]", formatNumber(answer.radius)], ["Photons in the disc", answer.photons && answer.radius > 0 ? formatNumber(found.length) : null], ["Tiles in the disc", (answer.tiles || []).length || null],
      ["Their power [W]", found.length ? formatVector([0, 1, 2].map(k => found.reduce((sum, photon) => sum + photon.power[k], 0))) : null]]));
    if (["sppm", "vcm"].includes(live.state.integrator) && answer.radius > 0 && answer.samples > 0) {
      if (history.length && history[history.length - 1][0] === answer.samples) history.pop();
      history.push([answer.samples, answer.radius]);
    }
    radii.hidden = !showCurve(chart, history, { label: "Radius of the disc by the number of passes, both logarithmic", x: "passes" });
    photons.hidden = !found.length;
    const from = photon => {
      const title = lightTitle(photon.light, photon.group), made = button(title, () => app.showPhotonPath(photon));
      made.className = "link";
      made.title = "Show the path of this photon from its light";
      return photon.path === undefined ? title : made;
    };
    photons.replaceChildren(table(["From", "Bounces", "Power [W]", "Position [m]", "Direction"], found.slice(0, 300).map(photon =>
      [from(photon), formatNumber(photon.bounce), formatVector(photon.power), formatVector(photon.position), formatVector(photon.direction)])));
    focus.disabled = face.disabled = !live.owner || !Array.isArray(answer.position);
    showDisc(answer);
  }
  function showDisc(answer) {
    const seen = answer && Array.isArray(answer.position) && Array.isArray(answer.normal);
    space.setDisc(seen ? { position: answer.position, normal: answer.normal, radius: answer.radius || 0, photons: answer.photons || [], tiles: tiles.input.checked ? answer.tiles || [] : [] } : null);
  }
  /* The disc follows the mouse, at most ten times a second; without a place it returns to the clicked pixel. */
  let hovered = "";
  const look = newestOnly(async (column, line) => {
    let answer = app.inspected;
    if (column !== null)
      try {
        answer = await getJson(`/api/pixel?x=${column}&y=${line}`);
      } catch { /* the renderer is busy */ }
    if (hovered === `${column} ${line}`) showDisc(answer);
    if (column !== null && answer && answer.radius > 0) app.tellDisc(column, line, answer);
    await new Promise(resolve => setTimeout(resolve, 100));
  });
  app.hoverPixel = place => {
    const [column, line] = place && hover.input.checked && app.mode === "overlay" ? place.map(Math.floor) : [null, null];
    if (hovered === `${column} ${line}`) return;
    hovered = `${column} ${line}`;
    look(column, line);
  };
  photons.hidden = true;
  app.clearPixel = () => {
    hovered = "";
    space.setDisc(null);
    if (!app.selected) return;
    app.selected = app.inspected = null;
    facts.replaceChildren();
    photons.replaceChildren();
    photons.hidden = radii.hidden = true;
    place.textContent = "Click a pixel of the picture.";
    picture.draw();
  };
}
