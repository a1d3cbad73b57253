// A query that is dragged among the keys of a few words: scores, softmax and mean follow.

const SVG = "http://www.w3.org/2000/svg";
const REACH = 2.5; // the longest query
const EDGE = 2.85; // of the plane that is drawn
const TEMPERATURES = [0.25, 0.5, 1, Math.SQRT2, 2, 4, 8];

/** Scores, what they are after the division, their exps, the weights and the mean of the keys; words
 * that are `hidden` by a mask get no weight. */
export function attend(keys, query, temperature, hidden) {
  const scores = keys.map(([x, y]) => x * query[0] + y * query[1]);
  const scaled = scores.map((score) => score / temperature);
  const top = Math.max(...scaled.filter((_, i) => !hidden[i]));
  const powers = scaled.map((score, i) => (hidden[i] ? 0 : Math.exp(score - top)));
  const sum = powers.reduce((a, b) => a + b, 0);
  const weights = powers.map((power) => (sum ? power / sum : 0));
  const mean = [0, 1].map((axis) => weights.reduce((a, weight, i) => a + weight * keys[i][axis], 0));
  return { scores, scaled, exps: scaled.map(Math.exp), weights, mean };
}

/** Over how many words the weights are spread: exp of their entropy. */
export function effective(weights) {
  return Math.exp(-weights.reduce((sum, weight) => sum + (weight ? weight * Math.log(weight) : 0), 0));
}

function plain(number) {
  const text = number >= 1000 ? number.toExponential(1) : number.toFixed(2);
  return text.replace(/^-(0\.00)$/, "$1").replace("-", "−");
}

function make(tag, style, ...children) {
  const element = document.createElement(tag);
  element.style.cssText = style;
  element.append(...children);
  return element;
}

function draw(parent, tag, attributes, text = "") {
  const element = document.createElementNS(SVG, tag);
  element.textContent = text;
  parent.append(element);
  return put(element, attributes);
}

function put(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function slider(label, least, most, step, moved) {
  const input = make("input", "flex: 1; min-width: 5em");
  Object.assign(input, { type: "range", min: least, max: most, step });
  const number = make("output", "min-width: 6.5em; font-variant-numeric: tabular-nums");
  input.addEventListener("input", () => moved(Number(input.value), false));
  input.addEventListener("change", () => moved(Number(input.value), true));
  input.addEventListener("keydown", (event) => {
    if (/^(Arrow|Page|Home|End)/.test(event.key)) event.stopPropagation(); // or the notebook moves on
  });
  const row = make("label", "display: flex; gap: 0.8em; align-items: center",
    make("span", "min-width: 7.5em", label), input, number);
  return { input, number, row };
}

/** The plane: keys, the query with a handle, how far each key reaches, and the mean. */
function picture(words, keys, { accent, second, muted }) {
  const plot = document.createElementNS(SVG, "svg");
  put(plot, { viewBox: `${-EDGE} ${-EDGE} ${2 * EDGE} ${2 * EDGE}`, "aria-hidden": "true" });
  plot.style.cssText = "width: 340px; max-width: 100%; touch-action: none; flex: none";
  const axis = { stroke: muted, "stroke-width": 0.015 };
  draw(plot, "path", { ...axis, d: `M${-EDGE} 0H${EDGE}M0 ${-EDGE}V${EDGE}` });
  const feet = draw(plot, "path", { ...axis, stroke: second, "stroke-dasharray": 0.07 });
  const dots = keys.map(([x, y], i) => {
    draw(plot, "path", { d: `M0 0L${x} ${-y}`, stroke: accent, "stroke-width": 0.03 });
    const label = { x: x + 0.14, y: -y - 0.1, "font-size": 0.24, fill: "currentColor" };
    draw(plot, "text", label, words[i]);
    return draw(plot, "circle", { cx: x, cy: -y, fill: accent });
  });
  const arrow = draw(plot, "path", { stroke: second, "stroke-width": 0.05 });
  const mean = draw(plot, "circle", { r: 0.1, fill: "currentColor" });
  const handle = draw(plot, "circle", { r: 0.17, fill: second });
  handle.style.cursor = "grab";
  const name = draw(plot, "text", { "font-size": 0.24, fill: "currentColor" }, "query");
  return {
    plot,
    show(query, found) {
      const [x, y] = query;
      const square = x * x + y * y;
      put(arrow, { d: `M0 0L${x} ${-y}` });
      put(handle, { cx: x, cy: -y });
      const left = x > 0.9 - EDGE; // room for the name
      put(name, { x: x + (left ? -0.25 : 0.25), y: 0.08 - y, "text-anchor": left ? "end" : "start" });
      put(mean, { cx: found.mean[0], cy: -found.mean[1] });
      mean.style.display = found.weights.some(Boolean) ? "" : "none";
      dots.forEach((dot, i) => put(dot, { r: 0.05 + 0.22 * Math.sqrt(found.weights[i]) }));
      const foot = (key, i) => {
        const share = found.scores[i] / square;
        return `M${key[0]} ${-key[1]}L${share * x} ${-share * y}`;
      };
      put(feet, { d: square > 0.001 ? keys.map(foot).join("") : "M0 0" });
    },
  };
}

function render({ model, el }) {
  const [words, keys] = [model.get("words"), model.get("vectors")];
  const { plot, show } = picture(words, keys, model.get("colours"));
  let [query, temperature, hidden] = [];
  const cell = "padding: 1px 0.6em; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums";
  const rows = words.map((word, i) => {
    const numbers = [0, 1, 2, 3].map(() => make("td", cell));
    const bar = make("div", `height: 0.8em; background: ${model.get("colours").accent}`);
    const mask = make("input", "margin: 0");
    Object.assign(mask, { type: "checkbox" });
    mask.setAttribute("aria-label", `hide “${word}” by the mask`);
    mask.addEventListener("change", () => {
      hidden = hidden.map((one, k) => (k === i ? mask.checked : one));
      update(true);
    });
    const name = make("th", "padding: 1px 0.7em 1px 0; text-align: left; font-weight: 600", word);
    const row = make("tr", "background: none", name, ...numbers,
      make("td", "width: 80px", bar), make("td", "text-align: center", mask));
    return { row, numbers, bar, mask };
  });
  const divided = make("th", cell);
  const heads = ["", "q · k", divided, "exp", "weight", "", "masked"].map((text) =>
    (text === divided ? divided : make("th", `${cell}; font-weight: 600`, text)));
  const told = make("output", "display: block; margin: 0.3em 0");
  told.setAttribute("aria-live", "polite");

  const angle = slider("angle", -180, 180, 1, (value, done) => turn(value, Math.hypot(...query), done));
  const length = slider("length", 0, REACH, 0.05, (value, done) => turn(degrees(), value, done));
  const divisor = slider("divide by T", 0, TEMPERATURES.length - 1, 1, (place, done) => {
    temperature = TEMPERATURES[place];
    update(done);
  });
  let direction = 0; // of a query whose length is 0
  function degrees() {
    const [x, y] = query;
    return Math.hypot(x, y) > 1e-6 ? (180 / Math.PI) * Math.atan2(y, x) : direction;
  }
  function turn(to, size, done) {
    direction = to;
    query = [Math.cos, Math.sin].map((part) => Number((size * part((to * Math.PI) / 180)).toFixed(6)));
    update(done);
  }

  function update(done) {
    const found = attend(keys, query, temperature, hidden);
    show(query, found);
    rows.forEach(({ numbers, bar, mask }, i) => {
      const columns = [found.scores[i], found.scaled[i], found.exps[i], found.weights[i]];
      numbers.forEach((number, k) => {
        number.textContent = hidden[i] && k === 2 ? "0" : plain(columns[k]);
      });
      bar.style.width = `${100 * found.weights[i]}%`;
      mask.checked = hidden[i];
    });
    [angle.input.value, length.input.value] = [degrees(), Math.hypot(...query)];
    angle.number.textContent = `${Math.round(degrees())}°`.replace("-", "−");
    length.number.textContent = plain(Math.hypot(...query));
    const nearest = TEMPERATURES.map((value) => Math.abs(value - temperature));
    divisor.input.value = nearest.indexOf(Math.min(...nearest));
    const root = temperature >= 1 ? ` = √${Math.round(temperature ** 2)}` : "";
    divisor.number.textContent = `${plain(temperature)}${root}`;
    divided.textContent = `÷ ${plain(temperature)}`;
    told.textContent = `Query (${query.map(plain).join(", ")}). The mean lies at (${found.mean.map(plain).join(", ")}); `
      + `the weights are spread over ${plain(found.weights.some(Boolean) ? effective(found.weights) : 0)} effective words.`;
    if (done) {
      for (const [name, value] of Object.entries({ query, temperature, hidden })) model.set(name, value);
      model.save_changes();
    }
  }

  const at = (event) => {
    const box = plot.getBoundingClientRect();
    const x = (2 * EDGE * (event.clientX - box.left)) / box.width - EDGE;
    const y = EDGE - (2 * EDGE * (event.clientY - box.top)) / box.height;
    const shorter = Math.min(1, REACH / Math.hypot(x, y));
    return [x, y].map((part) => Number((part * shorter).toFixed(2)));
  };
  let dragged = false;
  plot.addEventListener("pointerdown", (event) => {
    dragged = true;
    plot.setPointerCapture(event.pointerId);
    query = at(event);
    update(false);
  });
  plot.addEventListener("pointermove", (event) => {
    if (!dragged) return;
    query = at(event);
    update(false);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    plot.addEventListener(end, () => {
      if (dragged) update(true);
      dragged = false;
    });
  }

  function follow() {
    [query, temperature, hidden] = ["query", "temperature", "hidden"].map((name) => model.get(name));
    update(false);
  }
  const followed = "change:query change:temperature change:hidden";
  model.on(followed, follow);
  follow();
  const table = make("table", "border-collapse: collapse; margin: 0", make("thead", "", make("tr", "", ...heads)),
    make("tbody", "", ...rows.map(({ row }) => row)));
  el.append(make("div", "display: flex; flex-wrap: wrap; gap: 0.5em 1.5em; align-items: center; font-size: 13px",
    plot, make("div", "flex: 1; min-width: min(100%, 22em); max-width: 32em",
      make("div", "overflow-x: auto", table), told, angle.row, length.row, divisor.row)));
  return () => model.off(followed, follow);
}

export default { render };
