/* The panel of trees: boxes and planes of a level, the nodes that one ray or point visits, and costs. */
"use strict";

function treesPanel(app) {
  const { space } = app, { options } = space, { content, details } = panel("Trees", false);
  const tree = choice("Tree", [["", "triangles"]], "", () => { app.clearWalk(); arrange(); if (options.showBoxes) load(); }, "tree");
  const shown = check("Show the boxes of a level", false, checked => {
    options.showBoxes = checked;
    if (checked && app.mode === "picture") app.setMode("overlay");
    if (checked) load();
    space.draw();
  }, "show-boxes");
  const bounds = check("Show the bounds of the scene in 3-D", true, checked => { options.showBounds = checked; space.draw(); });
  const level = slider("Level", { min: 0, max: 24, step: 1, value: 4, text: x => String(Math.round(x)), changed: () => { if (options.showBoxes) load(); }, id: "tree-level" });
  const count = element("p", { className: "hint" }), heading = element("h3", {});
  const walkButton = button("Follow the clicked pixel", () => app.followRay());
  walkButton.id = "follow-ray";
  const clear = button("Remove", () => app.clearWalk());
  const step = slider("Step", { min: 0, max: 1, step: 1, value: 0, text: x => String(Math.round(x) + 1), changed(x) { space.walk.step = Math.round(x); space.draw(); mark(); }, id: "walk-step" });
  const about = element("p", { className: "hint" });
  const list = element("div", { className: "scroller", tabindex: "0", role: "region" });
  list.setAttribute("aria-label", "Nodes that are visited");
  const costs = element("div", { className: "content flush" });
  content.append(tree.box, shown.box, level.box, count, bounds.box, heading,
    element("div", { className: "buttons" }, walkButton, clear), about, step.box, list, costs);

  const map = () => (live.state && live.state.photon_maps || []).find(item => item.name === tree.select.value);
  const address = place => tree.select.value ? `/api/planes?map=${encodeURIComponent(tree.select.value)}&${place}` : "";
  const load = newestOnly(async () => {
    const n = Math.round(level.value);
    if (tree.select.value) {
      const nodes = decodePlanes(await getBinary(address(`level=${n}`)));
      space.setPlanes(nodes);
      const leaves = nodes.filter(node => node.leaf).length;
      count.textContent = `${plural(nodes.length, "box", "boxes")} at level ${n}, ${formatNumber(leaves)} of them leaves (orange). The planes that cut them: across x red, y green, z blue.`;
    } else {
      space.setBoxes(await getBinary(`/api/boxes?level=${n}`));
      count.textContent = `${plural(space.boxes.count, "box", "boxes")} at level ${n}; leaves are orange.`;
    }
  });
  app.followRay = newestOnly(async () => {
    if (!app.selected) {
      notify("Click a pixel of the picture first.");
      return;
    }
    const [x, y] = app.selected, place = `x=${x}&y=${y}`;
    const answer = tree.select.value ? { nodes: decodePlanes(await getBinary(address(place))), point: true } : await getJson(`/api/ray?${place}`);
    space.setWalk(answer.nodes || [], answer.point ? null : answer.origin || app.rig.camera.eye, answer.hit && answer.hit.position || null);
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
      about.textContent = tree.select.value ? "From the box of all photons down to the leaf around the point that the pixel shows."
        : "A ray visits the nodes whose boxes it enters, near ones first.";
      return;
    }
    const leaves = nodes.filter(node => node.leaf), triangles = leaves.reduce((sum, node) => sum + (node.triangles || 0), 0);
    about.textContent = answer.point ? `${plural(nodes.length, "node")}; ${nodes.length ? `the last holds ${plural(nodes[nodes.length - 1].points, "photon")}.` : ""}`
      : `${plural(nodes.length, "node")}, ${formatNumber(leaves.length)} of them leaves with ${plural(triangles, "triangle")}; ` +
      (answer.hit ? `the ray hits a surface after ${formatNumber(answer.hit.distance)} m.` : "the ray hits nothing.");
    step.limit = Math.max(0, nodes.length - 1);
    step.value = nodes.length - 1;
    const titles = answer.point ? ["Step", "Photons", "Plane [m]"] : ["Step", "Node", "Triangles", "Lowest corner [m]"];
    const cells = (node, i) => answer.point ? [i + 1, formatNumber(node.points), node.leaf ? "leaf" : `${"xyz"[node.axis]} = ${formatNumber(node.split)}`]
      : [i + 1, node.leaf ? "leaf" : "inner", node.leaf ? formatNumber(node.triangles) : "", formatVector(node.min)];
    list.append(table(titles, nodes.slice(0, 1000).map(cells)));
    mark();
  }
  function mark() {
    const rows = list.querySelectorAll("tbody tr");
    rows.forEach((item, i) => item.classList.toggle("now", i === space.walk.step));
    const now = rows[space.walk.step];
    if (now) list.scrollTop = now.offsetTop - list.clientHeight / 2;
  }

  /* The costs by the surface area heuristic (SAH), of the triangle tree alone. */
  let costsOf = null, failed = null;
  const loadCosts = newestOnly(async () => {
    const { tree_levels: levels, generation, bounds: box } = live.state, key = `${levels} ${box}`;
    if (costsOf === key || failed === generation || !levels || tree.select.value) return;
    try {
      showCosts(await getJson("/api/tree"));
      costsOf = key;
    } catch { /* the tree is being built: tried again with the next picture */
      failed = generation;
      costs.replaceChildren();
    }
  });
  function showCosts(found) {
    const chart = (title, columns, labels) => {
      const svg = svgElement("svg", { class: "chart" });
      showColumns(svg, columns, labels);
      return [element("h3", { textContent: title }), svg];
    };
    const fact = (title, text) => [title, text], share = 100 / (found.cost || 1);
    costs.replaceChildren(element("h3", { textContent: "What a ray costs" }),
      element("p", { className: "hint", textContent: `A random ray through the scene costs as much as ${formatNumber(found.cost / found.intersect_cost)} tests of a triangle (surface area heuristic; one step costs ${formatNumber(found.traversal_cost / found.intersect_cost)} of them).` }),
      factTable([fact("Triangles", formatNumber(found.triangles_total)), fact("Nodes", formatNumber(found.nodes)),
        fact("Leaves", `${formatNumber(found.leaf_count)}, ${formatNumber(found.empty_leaves)} of them empty`),
        fact("Triangles per leaf", formatNumber(found.references / Math.max(1, found.leaf_count - found.empty_leaves))), fact("Levels", formatNumber(found.levels.length))]),
      ...chart("Cost by level [% of the whole]", found.levels.map(item => [item.level, item.cost * share,
        `Level ${item.level}: ${formatNumber(item.cost * share)} %, ${plural(item.inner, "inner node")}, ${plural(item.leaves, "leaf", "leaves")} with ${plural(item.triangles, "triangle")}`]),
      { x: "level", label: "Cost by level of the triangle tree in per cent" }),
      ...chart("Leaves by their triangles [number of leaves]", found.leaves.map((value, i) => [i === 16 ? "16+" : i, value, `${plural(value, "leaf", "leaves")} with ${i === 16 ? "16 or more triangles" : plural(i, "triangle")}`]),
        { x: "triangles in a leaf", label: "Number of leaves by the number of their triangles" }));
  }

  function arrange() {
    const points = Boolean(tree.select.value);
    heading.textContent = points ? "One point in the tree" : "One ray through the tree";
    costs.hidden = points;
    if (!options.showBoxes) count.textContent = points ? "The k-d tree that finds the photons near a point." : "The tree that finds the triangles that a ray hits.";
    const levels = points ? map() && map().levels : live.state && live.state.tree_levels;
    if (levels > 0) level.limit = Math.min(levels, points ? 17 : levels) - 1;
    if (!space.walk.nodes.length) showWalk();
    if (details.open && live.state) loadCosts();
  }
  details.addEventListener("toggle", arrange);
  let known = "";
  live.on("state", state => {
    const maps = (state.photon_maps || []).filter(item => item.levels), names = maps.map(item => item.name).join();
    if (names !== known) {
      known = names;
      const { value } = tree.select;
      tree.fill([["", "triangles"], ...maps.map(item => [item.name, `photons: ${mapTitle(item.name)}`])]);
      tree.select.value = maps.some(item => item.name === value) ? value : "";
      if (tree.select.value !== value) app.clearWalk();
    }
    arrange();
  });
  showWalk();
}
