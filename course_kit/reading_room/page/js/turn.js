import { make } from "../../../../course_lib/views/heatmap/js/elements.js";
import { signed } from "./render.js";
import { changedSentence, median, rowText, rowsShown, shortNumber, shownChange, withWeight } from "./traced.js";

// Weights that a reader changes: a slider for each word, and what the network answers then.

const MOST_SLIDERS = 24;
const FINE = 1000; // places of a slider

/** A slider that is also the bar of its word's weight. */
function weightSlider(name, chosen, turn) {
  const input = make("input", { type: "range", min: 0, max: FINE, step: 10, tabIndex: -1, "aria-label": `weight of ${name}` });
  const told = make("span", { class: "is" });
  input.addEventListener("input", () => turn(Number(input.value) / FINE));
  const line = make("label", { class: chosen ? "slider chosen" : "slider" },
    make("span", { class: "of", dir: "auto", textContent: name }), input, told);
  function draw(weight, own) {
    input.value = Math.round(weight * FINE);
    input.style.setProperty("--at", `${100 * weight}%`);
    told.textContent = shortNumber(weight);
    input.setAttribute("aria-valuetext", `${shortNumber(weight)}, its own weight ${shortNumber(own)}`);
  }
  return { line, input, draw };
}

/** What the table of answers shows. */
function captionOf(name, compared) {
  const what = `Probability of “${name}” with these weights`;
  return compared ? `${what}. “Shuffled” is the median of ${compared.shuffled.length} shuffles; the two orange marks are the lowest and the highest of them.` : what;
}

function answerRow(name, share, change, told, range) {
  const bar = make("i");
  bar.style.width = `${100 * share}%`;
  const cell = make("td", { class: "bar" }, bar);
  if (range) {
    const spread = make("b", { class: "spread" });
    spread.style.left = `${100 * range[0]}%`;
    spread.style.width = `${100 * (range[1] - range[0])}%`;
    cell.append(spread);
  }
  return make("tr", { class: told }, make("th", { scope: "row", textContent: name }), cell,
    make("td", { textContent: share.toFixed(2) }),
    make("td", { textContent: change === null ? "" : signed(change) }));
}

/**
 * The panel in which weights are changed. `turn(row, place)` is told of a new row (null: the network's own),
 * `everywhere(wanted)` of where it holds.
 */
export function makeTurn(classes, { turn, everywhere }) {
  const heading = make("h4", { textContent: "Change a weight" });
  const where = make("select", {}, new Option("everywhere, by the same factors", "all"), new Option("in this row alone", "here"));
  where.addEventListener("change", () => everywhere(where.value === "all"));
  const whereLine = make("label", {}, "The change holds ", where);
  const sliders = make("div", { class: "sliders", role: "group", "aria-label": "Weights: left and right arrow keys change one, up and down go to another word" });
  const inputs = () => [...sliders.querySelectorAll("input")];
  /** One tab stop for all sliders: the one that has it. */
  const giveTabStop = (input) => inputs().forEach((one) => (one.tabIndex = one === input ? 0 : -1));
  sliders.addEventListener("focusin", (event) => giveTabStop(event.target));
  sliders.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    inputs()[inputs().indexOf(event.target) + by]?.focus();
  });
  const [whose, left] = [make("p", { class: "small" }), make("p", { class: "small" })];
  const said = make("p", { class: "saw", role: "status" });
  const table = make("table", { class: "bars answers" });
  const presets = [["None", () => 0], ["Half", (w) => w / 2], ["Twice", (w) => 2 * w]].map(([text, rule]) => {
    const button = make("button", { type: "button", textContent: text });
    button.addEventListener("click", () => set(now.chosen, rule(weights()[now.chosen])));
    return button;
  });
  const reset = make("button", { type: "button", textContent: "Reset" }, make("span", { class: "key", textContent: " (R)" }));
  reset.addEventListener("click", () => turn(null));
  const named = make("span", { dir: "auto" });
  const element = make("div", { class: "turn" }, heading,
    make("p", { class: "small" }, "Drag a weight", make("span", { class: "key", textContent: ", or use the keys ← and →; ↑ and ↓ go to another word" }),
      ". The other weights then grow or shrink by one factor, so that all sum to 1."),
    whose,
    make("p", { class: "choices" }, whereLine),
    make("p", { class: "buttons" }, named, ...presets, reset), sliders, left, said, table);
  element.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "r" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.tagName === "SELECT") return;
    event.preventDefault();
    turn(null);
  });
  let now = null; // the row of the trace, and what was turned
  let drawn = { key: "", all: new Map() };
  const weights = () => now.turned ?? now.weights;
  let capped = false; // whether twice the weight would have been more than 1
  const set = (place, weight) => {
    capped = weight > 1;
    turn(withWeight(weights(), now.weights, place, Math.min(1, weight)), place);
  };

  function drawSliders({ names, chosen, weights: own }) {
    const rows = own.map((weight) => ({ values: [weight] }));
    const { places, left: rest } = rowsShown({ rows, bar: 0, chosen }, MOST_SLIDERS);
    const key = JSON.stringify([names, chosen, places]);
    if (drawn.key !== key) {
      const all = new Map(places.map((i) =>
        [i, weightSlider(names[i], i === chosen, (weight) => set(i, weight))]));
      sliders.replaceChildren(...[...all.values()].map(({ line }) => line));
      giveTabStop(all.get(chosen).input);
      drawn = { key, all };
    }
    left.textContent = rest ? `${rest} more have smaller weights and keep their proportions.` : "";
    for (const [i, slider] of drawn.all) slider.draw(weights()[i], own[i]);
  }

  function drawAnswers({ own, turned, compared }) {
    const best = own.indexOf(Math.max(...own));
    const of = (probabilities) => probabilities[best];
    const change = (share) => shownChange(of(own), share);
    const rows = [answerRow("its own weights", of(own), null, "most")];
    if (turned) rows.push(answerRow("yours", of(turned), change(of(turned)), "yours"));
    if (compared) {
      const shuffled = compared.shuffled.map(of);
      const range = [Math.min(...shuffled), Math.max(...shuffled)];
      rows.push(answerRow("equal weights", of(compared.equal), change(of(compared.equal)), ""));
      rows.push(answerRow("shuffled", median(shuffled), change(median(shuffled)), "", range));
    }
    const headings = ["Weights", "", `“${classes[best]}”`, "change"].map((text) =>
      make("th", { scope: "col", textContent: text || "as a bar", class: text ? "" : "mute" }));
    table.replaceChildren(make("caption", { textContent: captionOf(classes[best], compared) }),
      make("thead", {}, make("tr", {}, ...headings)), make("tbody", {}, ...rows));
    if (now.turned && !turned) return; // the answer is on its way, and is said once
    const moved = now.turned ? now.moved.map((i) =>
      ({ name: now.names[i], before: now.weights[i], after: now.turned[i], capped })) : [];
    const sentence = changedSentence({
      moved, classes, own, now: turned ?? own,
      equal: compared?.equal ?? null, shuffled: compared?.shuffled ?? [],
    });
    if (said.textContent !== sentence) said.textContent = sentence;
  }

  /** Draws the row of weights of a trace {names, chosen, weights, alone}, what was `turned` of it and
   *  `moved`, and the answers: the `own`, the `turned`, and the `compared`, those that are known. */
  function draw({ row, words, word, weight }, { turned, moved, everywhere: all }, answers) {
    now = { ...row, turned, moved };
    whose.textContent = rowText(row, words.find(({ place }) => place === word).name, weight);
    whereLine.hidden = Boolean(row.alone);
    where.value = all ? "all" : "here";
    named.textContent = `“${row.names[row.chosen]}”: `;
    drawSliders(row);
    drawAnswers(answers);
    reset.disabled = !turned;
  }
  return { element, draw };
}
