import { dayAndNight, labelled, make } from "../../../../course_lib/views/heatmap/js/elements.js";
import { equation } from "./equation.js";
import { rangeText, rowsShown, shortNumber, stripCells, stripText } from "./traced.js";

// Draws any trace from its description (engine/steps.js): steps, each with an equation, the values of
// its symbols and a table. It knows no network.

const MOST_ROWS = 40;

/** A row of small cells, tinted by sign and size. */
function strip(values, colours) {
  const { cells } = stripCells(values, colours.length);
  const row = make("span", { class: "strip", role: "img", "aria-label": stripText(values) });
  row.append(...cells.map((cell) => {
    const one = make("i");
    one.style.background = dayAndNight(colours[cell]);
    return one;
  }));
  return make("span", { class: "stripline" }, row,
    make("span", { class: "range", "aria-hidden": "true", textContent: rangeText(values) }));
}

function symbolRow({ symbol, name, value, values }, colours) {
  return make("tr", {},
    make("td", { class: "symbol" }, equation(symbol)),
    make("th", { scope: "row", class: "named", dir: "auto", textContent: name }),
    make("td", { class: "value" }, values ? strip(values, colours) : make("b", {}, shortNumber(value))));
}

function symbolsTable(symbols, colours) {
  const headings = ["Symbol", "What it is", "Value"].map((text) =>
    make("th", { scope: "col", textContent: text }));
  return make("table", { class: "symbols" },
    make("thead", { class: "heard" }, make("tr", {}, ...headings)),
    make("tbody", {}, ...symbols.map((one) => symbolRow(one, colours))));
}

function tableRow({ values }, name, bar, whole, chosen) {
  const drawn = make("i");
  drawn.style.width = `${100 * Math.min(1, Math.max(0, values[bar] / whole))}%`;
  const cells = values.map((value, i) => make("td", { class: i === bar ? "drawn" : "" }, shortNumber(value)));
  return make("tr", { class: chosen ? "most" : "" },
    make("th", { scope: "row", dir: "auto", textContent: name }), ...cells,
    make("td", { class: "bar" }, drawn));
}

/** A table whose column `bar` is also drawn; names of classes are the model's own. */
function barsTable(table, classes) {
  const { places, left } = rowsShown(table, MOST_ROWS);
  const nameOf = (i) => (table.unit === "classes" ? classes[i] : table.rows[i].name);
  const headings = [table.unit === "classes" ? "class" : "", ...table.columns, "as a bar"].map((text) =>
    make("th", { scope: "col", textContent: text || "name", class: text === "as a bar" || !text ? "mute" : "" }));
  const rows = places.map((i) =>
    tableRow(table.rows[i], nameOf(i), table.bar, table.whole, i === table.chosen));
  return [
    make("table", { class: "bars traced" },
      make("caption", { textContent: table.label }),
      make("thead", {}, make("tr", {}, ...headings)), make("tbody", {}, ...rows)),
    left ? make("p", { class: "small", textContent: `and ${left} more with smaller bars` }) : "",
  ];
}

/** Where the lesson builds a step: a link in the site, words where the page stands alone. */
function builtIn({ lesson, exercise }, inSite) {
  if (!lesson) return "";
  const text = `Lesson ${lesson.slice(0, 2)}${exercise ? `, exercise “${exercise}”` : ""}`;
  const anchor = exercise ? `#exercise-${exercise}` : "";
  const place = inSite ? make("a", { href: `${lesson}.html${anchor}`, textContent: text }) : text;
  return make("p", { class: "small built" }, "Build it yourself: ", place, ".");
}

const COLOURS = "A strip shows the numbers of a vector: blue for negative ones, red for positive ones, the stronger the larger.";

function stepPanel(step, { classes, colours, inSite }) {
  const formula = step.equation
    ? [make("div", { class: "equation" }, equation(step.equation))] : [];
  const strips = step.symbols.some(({ values }) => values);
  return [
    make("h4", { textContent: step.title }), make("p", { class: "says", textContent: step.says }),
    ...formula, symbolsTable(step.symbols, colours),
    ...(strips ? [make("p", { class: "small", textContent: COLOURS })] : []),
    ...(step.table ? barsTable(step.table, classes) : []), builtIn(step, inSite),
  ];
}

/**
 * The steps of a trace as tabs, which the arrow keys walk. `draw(trace)` shows a trace at the step where
 * the last one stood, or after `restart()` at the first; `focus()` goes to where the arrow keys walk.
 * `look` says how steps look: classes, colours, inSite.
 */
export function makeTrace(id, look) {
  const tabs = make("div", { class: "steps", role: "tablist", "aria-label": "Steps of the computation" });
  const panel = make("div", { id: `${id}-step`, class: "step", role: "tabpanel", tabIndex: 0 });
  const walk = [[-1, "Back"], [1, "Next"]].map(([by, text]) => {
    const button = make("button", { type: "button", textContent: text });
    button.addEventListener("click", () => goTo(step + by, false));
    return button;
  });
  const place = make("span", { class: "place" });
  const element = make("div", { class: "trace" }, tabs,
    make("div", { class: "path" }, place, make("div", { class: "buttons" }, ...walk)), panel);
  let [steps, step] = [[], 0];
  function goTo(number, focus) {
    step = Math.max(0, Math.min(number, steps.length - 1));
    [...tabs.children].forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === step));
      tab.tabIndex = i === step ? 0 : -1;
    });
    const tab = tabs.children[step];
    place.textContent = `Step ${step + 1} of ${steps.length}`;
    if (focus) tab.focus({ preventScroll: true });
    panel.setAttribute("aria-labelledby", tab.id);
    panel.replaceChildren(...stepPanel(steps[step], look));
    for (const formula of panel.querySelectorAll(".equation")) // can be scrolled, so it takes the focus
      if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
    walk[0].disabled = step === 0;
    walk[1].disabled = step === steps.length - 1;
  }
  const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  element.addEventListener("keydown", (event) => {
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    goTo(step + moves[event.key], document.activeElement?.role === "tab");
  });
  function draw(trace) {
    const before = steps[step]?.short;
    const same = String(steps.map(({ short }) => short)) === String(trace.steps.map(({ short }) => short));
    steps = trace.steps;
    if (!same) {
      tabs.replaceChildren(...steps.map(({ short, aside }, i) => {
        const tab = make("button", { type: "button", role: "tab", id: `${id}-tab-${i}`,
          textContent: short, "aria-controls": panel.id, class: aside ? "aside" : "" });
        tab.addEventListener("click", () => goTo(i, true));
        return tab;
      }));
      step = Math.max(0, steps.findIndex(({ short }) => short === before));
    }
    goTo(step, false);
  }
  const restart = () => (step = 0);
  const focus = () => tabs.children[step]?.focus({ preventScroll: true });
  return { element, draw, restart, focus };
}

/** Selects for the word and for what a trace leaves open; `asked(name, value)` is told. */
export function makeChoices(asked) {
  const element = make("p", { class: "choices" });
  let drawn = "";
  function select({ name, label, options, value }) {
    const made = make("select", { name }, ...options.map(([text, i]) => new Option(text, i)));
    made.value = value;
    made.addEventListener("change", () => asked(name, Number(made.value)));
    return labelled(`${label} `, made);
  }
  function draw({ word, words, choices }) {
    const all = [
      { name: "word", label: "Word", options: words.map(({ place, name }) => [name, place]), value: word },
      ...choices.map((one) => ({ ...one, options: one.options.map((text, i) => [text, i]) })),
    ];
    const now = JSON.stringify(all);
    if (now === drawn) return;
    const focused = element.contains(document.activeElement) && document.activeElement.name;
    element.replaceChildren(...all.map(select));
    if (focused) element.querySelector(`[name=${focused}]`)?.focus();
    drawn = now;
  }
  return { element, draw };
}
