/* Panels of the scene: photons, trees, and the pixel that was clicked. */
"use strict";

function photonsPanel(app) {
  const { space } = app, { options } = space, { content, details } = panel("Photons", false);
  app.photonsDetails = details;
  const nice = x => Number(x.toPrecision(2));
  const map = choice("Map", [["", "all maps"]], "", () => app.refreshPhotons(true), "photon-map");
  const limit = slider("At most", { min: 1000, max: 2000000, value: 200000, logarithmic: true, text: x => formatNumber(nice(x)), changed: () => later(), id: "photon-limit" });
  const size = slider("Point size", { min: 1, max: 10, step: 0.5, value: options.pointSize, text: x => `${x} px`, changed(x) { options.pointSize = x; space.draw(); }, id: "point-size" });
  const opacity = slider("Opacity", { min: 0.05, max: 1, step: 0.05, value: options.opacity, text: x => `${Math.round(100 * x)} %`, changed(x) { options.opacity = x; space.draw(); } });
  const colouring = choice("Colour by", [[0, "power"], [1, "bounce"], [2, "light"], [3, "map"]], 0, value => { options.colouring = Number(value); key(); space.draw(); }, "colouring");
  const legend = element("ul", { className: "swatches" });
  const shown = check("Show photons", true, checked => { options.showPhotons = checked; space.draw(); });
  const hide = check("Hide photons behind surfaces", true, checked => { options.hideCovered = checked; space.draw(); });
  const follow = check("Follow the passes", true, () => app.refreshPhotons());
  const free = check("3-D view with a camera of its own", true, checked => { app.freeCamera = checked; app.setMode(app.mode); });
  const count = element("p", { className: "hint", id: "photon-count", textContent: "Choose “Overlay” or “3-D” to load photons." });
  content.append(count, map.box, limit.box, size.box, opacity.box, colouring.box, legend, shown.box, hide.box, follow.box, free.box);

  let timer = 0, fetched = "";
  function later() {
    clearTimeout(timer);
    timer = setTimeout(() => app.refreshPhotons(true), 300);
  }
  const load = newestOnly(async () => {
    const maps = (live.state.photon_maps || []).filter(item => item.count && (!map.select.value || map.select.value === item.name));
    const all = maps.reduce((sum, item) => sum + item.count, 0), most = nice(limit.value), answers = [];
    for (const item of maps) /* each map gets its share of the points */
      answers.push(await getBinary(`/api/photons?map=${encodeURIComponent(item.name)}&limit=${Math.max(1, Math.round(most * item.count / all))}`));
    space.setPhotons(answers);
    const { count: got, total } = space.photons;
    count.textContent = total ? `${formatNumber(got)} of ${formatNumber(total)} photons are drawn.`
      : "The renderer has no photons now; the methods photon and sppm have them.";
    key();
  });
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
    const passes = ["ppm", "sppm", "vcm"].includes(state.integrator) ? state.pass : ""; /* other methods keep their maps */
    const version = `${state.generation} ${passes} ${JSON.stringify(state.photon_maps)}`, begun = performance.now();
    if (!now && (version === fetched || begun < next)) return;
    fetched = version;
    next = begun + 2000;
    await load();
    next = Math.max(next, begun + 5 * (performance.now() - begun));
  };
  function key() {
    const classes = space.photons.classes, lights = live.state && live.state.lights || [];
    if (!classes || options.colouring === 0) {
      legend.replaceChildren();
      return;
    }
    const title = i => options.colouring === 1 ? `${i} ${i === 1 ? "bounce" : "bounces"}`
      : options.colouring === 2 ? lights[i] ? lights[i].name : `light ${i}` : ["global", "caustic", "media"][i] || `map ${i}`;
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
      map.fill([["", "all maps"], ...maps.map(item => [item.name, item.name])]);
      map.select.value = maps.some(item => item.name === value) ? value : "";
    }
    app.refreshPhotons();
  });
}

function treesPanel(app) {
  const { space } = app, { options } = space, { content, details } = panel("Trees", false);
  const shown = check("Show the boxes of a level", false, checked => {
    options.showBoxes = checked;
    if (checked && app.mode === "picture") app.setMode("overlay");
    if (checked) load();
    space.draw();
  }, "show-boxes");
  const bounds = check("Show the bounds of the scene in 3-D", true, checked => { options.showBounds = checked; space.draw(); });
  const level = slider("Level", { min: 0, max: 24, step: 1, value: 4, text: x => String(Math.round(x)), changed: () => { if (options.showBoxes) load(); }, id: "tree-level" });
  const count = element("p", { className: "hint", textContent: "Boxes are of the triangle tree; leaves are orange." });
  const walkButton = button("Follow the ray of the clicked pixel", () => app.followRay());
  walkButton.id = "follow-ray";
  const clear = button("Remove", () => { space.setWalk([], null, null); showWalk(); });
  const step = slider("Step", { min: 0, max: 1, step: 1, value: 0, text: x => String(Math.round(x) + 1), changed(x) { space.walk.step = Math.round(x); space.draw(); mark(); }, id: "walk-step" });
  const about = element("p", { className: "hint", textContent: "A ray visits the nodes whose boxes it enters, near ones first." });
  const list = element("div", { className: "scroller", tabindex: "0", role: "region" });
  list.setAttribute("aria-label", "Nodes that the ray visits");
  content.append(shown.box, level.box, count, bounds.box, element("h3", { textContent: "Walk of a ray" }),
    element("div", { className: "buttons" }, walkButton, clear), about, step.box, list);
  const load = newestOnly(async () => {
    space.setBoxes(await getBinary(`/api/boxes?level=${Math.round(level.value)}`));
    count.textContent = `${formatNumber(space.boxes.count)} boxes at level ${Math.round(level.value)}; leaves are orange.`;
  });
  app.followRay = newestOnly(async () => {
    if (!app.selected) {
      notify("Click a pixel of the picture first.");
      return;
    }
    const [x, y] = app.selected, answer = await getJson(`/api/ray?x=${x}&y=${y}`);
    const hit = answer.hit && answer.hit.position;
    space.setWalk(answer.nodes || [], answer.origin || app.rig.camera.eye, hit || null);
    details.open = true;
    if (app.mode === "picture") app.setMode("overlay");
    showWalk(answer);
  });
  app.clearWalk = () => { space.setWalk([], null, null); showWalk(); };
  function showWalk(answer) {
    const { nodes } = space.walk;
    step.box.hidden = list.hidden = !nodes.length;
    clear.disabled = !nodes.length;
    list.replaceChildren();
    if (!answer) {
      about.textContent = "A ray visits the nodes whose boxes it enters, near ones first.";
      return;
    }
    const leaves = nodes.filter(node => node.leaf), triangles = leaves.reduce((sum, node) => sum + (node.triangles || 0), 0);
    about.textContent = `${formatNumber(nodes.length)} nodes, ${formatNumber(leaves.length)} of them leaves with ${formatNumber(triangles)} triangles; ` +
      (answer.hit ? `the ray hits a surface after ${formatNumber(answer.hit.distance)} m.` : "the ray hits nothing.");
    step.limit = Math.max(0, nodes.length - 1);
    step.value = nodes.length - 1;
    const body = element("tbody", {}, ...nodes.slice(0, 1000).map((node, i) => element("tr", {},
      ...[i + 1, node.leaf ? "leaf" : "inner", node.leaf ? formatNumber(node.triangles) : "", formatVector(node.min)].map(text => element("td", { textContent: String(text) })))));
    list.append(element("table", {}, element("thead", {}, element("tr", {}, ...["Step", "Node", "Triangles", "Lowest corner [m]"].map(text => element("th", { textContent: text, scope: "col" })))), body));
    mark();
  }
  function mark() {
    const rows = list.querySelectorAll("tbody tr");
    rows.forEach((item, i) => item.classList.toggle("now", i === space.walk.step));
    const now = rows[space.walk.step];
    if (now) list.scrollTop = now.offsetTop - list.clientHeight / 2;
  }
  showWalk();
  live.on("state", state => {
    if (state.tree_levels > 0) level.limit = state.tree_levels - 1;
  });
}

function pixelPanel(app) {
  const { space, picture } = app, { content, details } = panel("Pixel", false);
  const place = element("p", { className: "hint", textContent: "Click a pixel of the picture." });
  const facts = element("table", {}), photons = element("div", { className: "scroller", tabindex: "0", role: "region" });
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
  content.append(place, element("div", { className: "pair" }, element("label", {}, "x", x), element("label", {}, "y", y)),
    element("div", { className: "buttons" }, go, focus, face, ray), facts, photons);
  app.inspect = newestOnly(async (column, line) => {
    const [width, height] = picture.size;
    column = Math.min(width - 1, Math.max(0, Math.floor(column)));
    line = Math.min(height - 1, Math.max(0, Math.floor(line)));
    app.selected = [column, line];
    x.value = String(column);
    y.value = String(line);
    details.open = true;
    picture.draw();
    show(await getJson(`/api/pixel?x=${column}&y=${line}`));
  });
  function show(answer) {
    app.inspected = answer;
    place.textContent = `Pixel ${app.selected.join(", ")}`;
    const rows = [["Value", formatVector(answer.value)], ["Depth [m]", formatNumber(answer.depth)], ["Position [m]", formatVector(answer.position)],
      ["Normal", formatVector(answer.normal)], ["Object", answer.object], ["Material", answer.material], ["Triangle", answer.triangle],
      ["Disc radius [m]", formatNumber(answer.radius)], ["Photons of the disc", answer.photons ? formatNumber(answer.photons.length) : null]];
    facts.replaceChildren(...rows.filter(([, value]) => value !== undefined && value !== null && value !== "–" && value !== "")
      .map(([title, value]) => element("tr", {}, element("th", { textContent: title, scope: "row" }), element("td", { textContent: String(value) }))));
    const found = answer.photons || [];
    photons.hidden = !found.length;
    const cell = text => element("td", { textContent: text }), lights = live.state && live.state.lights || [];
    photons.replaceChildren(element("table", {}, element("thead", {}, element("tr", {},
      ...["Power [W]", "Bounce", "Light", "Position [m]", "Direction"].map(text => element("th", { textContent: text, scope: "col" })))),
    element("tbody", {}, ...found.slice(0, 300).map(photon => element("tr", {}, cell(formatVector(photon.power)), cell(formatNumber(photon.bounce)),
      cell(lights[photon.light] ? lights[photon.light].name : formatNumber(photon.light)), cell(formatVector(photon.position)), cell(formatVector(photon.direction)))))));
    const seen = Array.isArray(answer.position) && Array.isArray(answer.normal);
    space.setDisc(seen ? { position: answer.position, normal: answer.normal, radius: answer.radius || 0, photons: found } : null);
    focus.disabled = face.disabled = !live.owner || !seen;
  }
  photons.hidden = true;
  app.clearPixel = () => {
    if (!app.selected) return;
    app.selected = app.inspected = null;
    space.setDisc(null);
    facts.replaceChildren();
    photons.replaceChildren();
    photons.hidden = true;
    place.textContent = "Click a pixel of the picture.";
    picture.draw();
  };
}
