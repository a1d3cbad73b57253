// One unit over the words of a text: each word's gate is a slider, and the state follows.

const SVG = "http://www.w3.org/2000/svg";

/** The state before the first word and after each. */
export function states(candidates, gates) {
  const found = [0];
  candidates.forEach((candidate, t) => found.push((1 - gates[t]) * found[t] + gates[t] * candidate));
  return found;
}

/** The share that is left at the end of what the word at `place` wrote. */
export function left(gates, place) {
  return gates.slice(place + 1).reduce((share, gate) => share * (1 - gate), gates[place]);
}

const signed = (number) => number.toFixed(2).replace(/^-(0\.00)$/, "$1").replace("-", "−");

function make(tag, style, ...children) {
  const element = document.createElement(tag);
  element.style.cssText = style;
  element.append(...children);
  return element;
}

function draw(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** A slider from 0 to 1 that calls `moved` with its value, at once and when it is let go. */
function slider(label, style, moved) {
  const input = make("input", style);
  Object.assign(input, { type: "range", min: 0, max: 1, step: 0.01 });
  input.setAttribute("aria-label", label);
  input.addEventListener("input", () => moved(Number(input.value), false));
  input.addEventListener("change", () => moved(Number(input.value), true));
  input.addEventListener("keydown", (event) => {
    if (/^(Arrow|Page|Home|End)/.test(event.key)) event.stopPropagation(); // or the notebook moves on
  });
  return input;
}

/** Candidates as bars and states as a line, over columns as wide as those of the sliders. */
function picture(candidates, { accent, muted }) {
  const count = candidates.length;
  const box = { viewBox: `0 -1.15 ${count} 2.3`, preserveAspectRatio: "none", "aria-hidden": "true" };
  const plot = draw("svg", box);
  plot.style.cssText = "width: 100%; height: 180px; display: block";
  const thin = { "vector-effect": "non-scaling-stroke", fill: "none" };
  for (const [t, value] of candidates.entries()) {
    const size = { x: t + 0.1, y: Math.min(0, -value), width: 0.8, height: Math.abs(value) };
    plot.append(draw("rect", { ...size, fill: muted, opacity: 0.4 }));
  }
  plot.append(draw("path", { ...thin, d: `M0 0H${count}`, stroke: "currentColor" }));
  const line = draw("path", { ...thin, stroke: accent, "stroke-width": 2.5 });
  const dots = draw("path", { ...thin, stroke: accent, "stroke-width": 9, "stroke-linecap": "round" });
  plot.append(line, dots);
  return {
    plot,
    show(found) {
      const points = found.map((value, t) => `${t ? t - 0.5 : 0} ${-value}`);
      line.setAttribute("d", `M${points.join("L")}`);
      dots.setAttribute("d", points.slice(1).map((point) => `M${point}h0`).join(""));
    },
  };
}

function render({ model, el }) {
  const [words, candidates] = [model.get("words"), model.get("candidates")];
  const place = candidates.indexOf(Math.max(...candidates));
  const { plot, show } = picture(candidates, model.get("colours"));
  const told = make("output", "display: block; margin: 0.4em 0; min-height: 1.5em");
  told.setAttribute("aria-live", "polite");
  let gates = [...model.get("z")];
  const columns = words.map((word, t) => {
    const tall = "writing-mode: vertical-lr; direction: rtl; height: 90px; width: 1.5em; margin: 4px auto; display: block";
    const input = slider(`z at “${word}”, word ${t + 1}`, tall, (value, done) => {
      gates[t] = value;
      update(done);
    });
    const number = make("div", "font-variant-numeric: tabular-nums");
    const column = make("div", "text-align: center; min-width: 0", make("div", "", word), input, number);
    return { input, number, column };
  });
  const all = slider("z at all words", "flex: 1", (value, done) => {
    gates = gates.map(() => value);
    update(done);
  });

  function update(done) {
    const found = states(candidates, gates);
    show(found);
    all.value = gates.reduce((sum, gate) => sum + gate, 0) / gates.length;
    columns.forEach(({ input, number }, t) => {
      input.value = gates[t];
      number.textContent = gates[t].toFixed(2);
    });
    told.textContent = `At the end the state is ${signed(found.at(-1))}. Of what “${words[place]}” wrote, `
      + `${Math.round(100 * left(gates, place))} % is left.`;
    if (done) {
      model.set("z", [...gates]);
      model.save_changes();
    }
  }

  function follow() {
    gates = [...model.get("z")];
    update(false);
  }
  model.on("change:z", follow);
  const grid = "display: grid; grid-auto-flow: column; grid-auto-columns: 1fr; gap: 0";
  const wide = make("div", `min-width: ${62 * words.length}px`, plot,
    make("div", grid, ...columns.map(({ column }) => column)));
  el.append(make("div", "max-width: 46rem; font-size: 13px",
    make("div", "", "Bars: what each word proposes, from −1 to 1. Line: the state after each word. Sliders: z."),
    make("div", "overflow-x: auto", wide),
    make("label", "display: flex; gap: 0.8em; align-items: center; max-width: 34rem; margin-top: 0.5em",
      "all words at once", all),
    told));
  update(false);
  return () => model.off("change:z", follow);
}

export default { render };
