/* Small elements and charts. Text is always set as text, never as HTML. */
"use strict";

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made && typeof value !== "string" || ["textContent", "className", "value", "title", "type", "id", "htmlFor"].includes(key)) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/* Rows of name, bar and text. `rows` are [name, value, text]; a bar of the value `most` fills the width. */
function showBars(box, rows, most = Math.max(...rows.map(row => row[1]), 1e-30)) {
  box.replaceChildren(...rows.flatMap(([name, value, text]) => {
    const track = element("span", { role: "presentation" }), bar = element("div", { className: "bar" });
    bar.style.width = `${Math.max(0, Math.min(100, 100 * value / most))}%`;
    track.append(bar);
    return [element("span", { textContent: name }), track, element("span", { textContent: text })];
  }));
}

const svgElement = (tag, attributes, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

/* Draws columns: `rows` are [name, value, title]; the title shows when the mouse rests on a column. */
function showColumns(svg, rows, { x, label }) {
  const width = 320, height = 130, left = 44, right = 4, top = 10, bottom = 32, most = Math.max(...rows.map(row => row[1]), 1e-30);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const step = (width - left - right) / rows.length, at = value => height - bottom - value / most * (height - top - bottom);
  const every = Math.ceil(rows.length / 10);
  svg.replaceChildren(...[0, most / 2, most].flatMap(value => [svgElement("line", { x1: left, x2: width - right, y1: at(value), y2: at(value) }),
    svgElement("text", { x: left - 6, y: at(value) + 4, "text-anchor": "end" }, formatNumber(+value.toPrecision(2)))]));
  rows.forEach(([name, value, title], i) => {
    const bar = svgElement("rect", { class: "column", x: left + (i + 0.12) * step, width: 0.76 * step, y: at(value), height: Math.max(0, height - bottom - at(value)) });
    bar.append(svgElement("title", {}, title));
    svg.append(bar);
    if (i % every === 0) svg.append(svgElement("text", { x: left + (i + 0.5) * step, y: height - bottom + 13, "text-anchor": "middle" }, String(name)));
  });
  svg.append(svgElement("text", { x: left + (width - left - right) / 2, y: height - 4, "text-anchor": "middle" }, x));
}

/* A table with titles over its columns; cells are texts or elements. */
function table(titles, rows) {
  return element("table", {}, element("thead", {}, element("tr", {}, ...titles.map(text => element("th", { textContent: text, scope: "col" })))),
    element("tbody", {}, ...rows.map(cells => element("tr", {}, ...cells.map(cell => element("td", {}, cell instanceof Node ? cell : String(cell)))))));
}

/* A table of names and values; rows without a value are left out. */
function factTable(rows) {
  return element("table", {}, element("tbody", {}, ...rows.filter(([, value]) => !["", "–", null, undefined].includes(value)).map(([title, value]) =>
    element("tr", {}, element("th", { textContent: title, scope: "row" }), element("td", {}, value instanceof Node ? value : String(value))))));
}

/* Draws y over x, both on logarithmic axes with a label at each decade or at the ends, and a dashed line
   at the target if it is above 0. */
function showCurve(svg, points, { label, x: titleX, target = 0, text = formatNumber }) {
  const width = 320, height = 160, left = 44, right = 10, top = 10, bottom = 34;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const used = points.filter(([x, y]) => x > 0 && y > 0 && Number.isFinite(x) && Number.isFinite(y));
  svg.replaceChildren();
  if (used.length < 2) return false;
  const axis = (values, from, to) => {
    let low = Math.log10(Math.min(...values)), high = Math.log10(Math.max(...values));
    if (high - low < 0.1) [low, high] = [low - 0.05, high + 0.05];
    const decades = [];
    for (let k = Math.ceil(low); k <= Math.floor(high); k++) decades.push(k);
    const ticks = decades.length >= 2 ? decades.filter((k, i) => i % Math.ceil(decades.length / 4) === 0) : [low, high];
    return { at: value => from + (Math.log10(value) - low) / (high - low) * (to - from), ticks: ticks.map(k => 10 ** k) };
  };
  const x = axis(used.map(point => point[0]), left, width - right), y = axis([...used.map(point => point[1]), ...(target > 0 ? [target] : [])], height - bottom, top);
  for (const value of y.ticks) {
    svg.append(svgElement("line", { x1: left, x2: width - right, y1: y.at(value), y2: y.at(value) }),
      svgElement("text", { x: left - 6, y: y.at(value) + 4, "text-anchor": "end" }, text(+value.toPrecision(2))));
  }
  x.ticks.forEach((value, i) => svg.append(svgElement("text",
    { x: x.at(value), y: height - bottom + 13, "text-anchor": i === 0 ? "start" : i === x.ticks.length - 1 ? "end" : "middle" },
    formatNumber(+value.toPrecision(2)))));
  svg.append(svgElement("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    svgElement("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, titleX));
  if (target > 0) svg.append(svgElement("line", { class: "target", x1: left, x2: width - right, y1: y.at(target), y2: y.at(target) }),
    svgElement("text", { x: width - right, y: y.at(target) - 4, "text-anchor": "end" }, "target"));
  svg.append(svgElement("path", { class: "curve", d: used.map(([a, b], i) => `${i ? "L" : "M"}${x.at(a).toFixed(1)} ${y.at(b).toFixed(1)}`).join("") }));
  const [lastX, lastY] = used[used.length - 1];
  svg.append(svgElement("circle", { cx: x.at(lastX), cy: y.at(lastY), r: 2.5 }));
  return true;
}

/* A panel of the side: a section that opens and closes, and remembers it. */
function panel(title, opened) {
  const content = element("div", { className: "content" });
  const details = element("details", {}, element("summary", { textContent: title }), content);
  const key = `kandela-panel-${title}`;
  details.open = (recall(key) || (opened ? "1" : "0")) === "1";
  details.addEventListener("toggle", () => remember(key, details.open ? "1" : "0"));
  document.getElementById("panels").append(details);
  return { details, content };
}

/* The browser's own memory, which may be switched off: for good, or (sessionStorage) of this tab. */
function recall(key, store = "localStorage") {
  try {
    return window[store].getItem(key);
  } catch {
    return null;
  }
}
function remember(key, value, store = "localStorage") {
  try {
    window[store].setItem(key, value);
  } catch { /* the choice is forgotten with the page */ }
}

let labelled = 0;
/* A row of a label, a control and, if given, what follows it. */
function row(label, control, after) {
  control.id = control.id || `control-${++labelled}`;
  control.setAttribute("aria-label", label);
  return element("label", { className: "row", htmlFor: control.id }, element("span", { textContent: label }), control, ...(after ? [after] : []));
}

/* A slider with its value as text. `logarithmic` makes equal steps equal factors. */
function slider(label, { min, max, step = 0, value, logarithmic = false, text = formatNumber, changed, id = "" }) {
  const to = x => logarithmic ? Math.log(x) : x, from = x => logarithmic ? Math.exp(x) : x;
  const low = to(min), high = to(max);
  const input = element("input", { type: "range", min: String(low), max: String(high), step: step && !logarithmic ? String(step) : String((high - low) / 400), id: id || `control-${++labelled}` });
  const shown = element("output", {});
  const read = () => {
    const raw = Math.min(max, Math.max(min, from(Number(input.value))));
    return step ? Math.min(max, Math.round(raw / step) * step) : raw;
  };
  const show = () => {
    shown.textContent = text(read());
    input.setAttribute("aria-valuetext", shown.textContent);
  };
  input.value = String(to(value));
  input.addEventListener("input", () => { show(); changed(read()); });
  show();
  const box = row(label, input, shown);
  shown.setAttribute("for", input.id);
  return {
    box, input,
    get value() { return read(); },
    set value(x) {
      input.value = String(to(Math.min(max, Math.max(min, x))));
      show();
    },
    get most() { return max; },
    set limit(x) {
      if (x === max) return;
      max = x;
      input.max = String(to(max));
      if (!step || logarithmic) input.step = String((to(max) - low) / 400);
      show();
    },
  };
}

function choice(label, options, value, changed, id = "") {
  const select = element("select", { id: id || `control-${++labelled}` });
  const fill = list => select.replaceChildren(...list.map(option => {
    const [name, text] = Array.isArray(option) ? option : [option, option];
    return element("option", { value: String(name), textContent: text });
  }));
  fill(options);
  select.value = String(value);
  select.addEventListener("change", () => changed(select.value));
  return { box: row(label, select), select, fill };
}

function check(label, checked, changed, id = "") {
  const input = element("input", { type: "checkbox", checked, id: id || `control-${++labelled}` });
  input.addEventListener("change", () => changed(input.checked));
  return { box: element("label", { className: "check" }, input, element("span", { textContent: label })), input };
}

const plural = (count, one, many = `${one}s`) => `${formatNumber(count)} ${count === 1 ? one : many}`;

function button(text, action, owner = false) {
  const made = element("button", { type: "button", textContent: text });
  if (owner) made.dataset.owner = "";
  made.addEventListener("click", action);
  return made;
}
