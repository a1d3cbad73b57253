import { clamp, shown, timesUniform, wordFact } from "./numbers.js";
import { sameCell } from "./cells.js";
import { tint } from "./colours.js";
import { dayAndNight, make, pin, ramp, saveControl } from "./elements.js";

const UNITS = { sentence: "Sentence", text: "Text" }; // what each row of words is called

/** What is told of a word (`fact`), its `colour` and its `marks`: by its weight, unless `spec.dress`
 *  says it word by word. */
function dressOf(spec, sentence, place) {
  if (spec.dress) return spec.dress[sentence][place];
  if (!spec.weights) return { fact: "", colour: "", marks: [] };
  const [weight, count] = [spec.weights[sentence][place], spec.counts[sentence]];
  const fact = wordFact(weight, count, spec.quantity);
  return { fact, colour: tint(spec, timesUniform(weight, count)), marks: [] };
}

function dressWord(spec, entry) {
  const { fact, colour, marks } = dressOf(spec, entry.sentence, entry.place);
  const { option } = entry;
  entry.fact = [fact, ...marks].filter(Boolean).join(", ");
  option.setAttribute("aria-label", [option.textContent, entry.fact].filter(Boolean).join(": "));
  option.className = ["word", ...marks].join(" ");
  option.style.background = dayAndNight(colour);
}

function wordOption(view, sentence, place) {
  const { spec } = view;
  const option = make("span", {
    role: "option", tabIndex: -1, "aria-selected": "false", dir: "auto",
    textContent: shown(spec.sentences[sentence][place], 80),
  });
  const entry = { option, sentence, place, fact: "" };
  dressWord(spec, entry);
  view.options.push(entry);
  return option;
}

function fillChip({ spec, chips }, sentence) {
  const [share, largest] = [spec.shares[sentence], Math.max(...spec.shares, 1e-9)];
  const bar = make("i");
  bar.style.width = `${(100 * share) / largest}%`;
  chips[sentence].replaceChildren(`${(100 * share).toFixed(1)}%`, bar);
}

function sentenceRow(view, sentence) {
  const { spec } = view;
  const margin = make("div", { class: "side" });
  if (spec.shares) {
    view.chips[sentence] = make("span", { class: "chip" });
    fillChip(view, sentence);
    margin.append(view.chips[sentence]);
  }
  const words = make("div", {
    class: spec.weights || spec.dress ? "words tinted" : "words", role: "group",
    "aria-label": `${UNITS[spec.unit]} ${sentence + 1}`,
  });
  spec.sentences[sentence].forEach((_, place) => words.append(wordOption(view, sentence, place), " "));
  return make("div", { class: "sentence", role: "presentation" }, margin, words);
}

function showTip(view, entry) {
  const { tip, figure } = view;
  view.told = entry;
  tip.textContent = entry ? entry.fact : "";
  if (!entry) return;
  const [frame, word] = [figure.getBoundingClientRect(), entry.option.getClientRects()[0]];
  const end = entry.option.closest("[role=listbox]").getBoundingClientRect().bottom;
  const left = Math.min(word.left - frame.left, frame.width - tip.offsetWidth - 6);
  const above = word.top - frame.top - tip.offsetHeight - 3;
  const below = word.bottom - frame.top + 3;
  const whole = getComputedStyle(figure).overflow === "visible";
  const fits = (top) => whole || (top >= 0 && top + tip.offsetHeight <= frame.height);
  // above, or below the last line, so that the rest of this line and the next can be read
  const tops = end - word.bottom < word.height ? [below, above] : [above, below];
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${tops.find(fits) ?? tops[0]}px`;
}

/** One tab stop: the word that has it takes the focus. */
function giveTabStop(view, index, focus) {
  const { options } = view;
  options[view.stop].option.tabIndex = -1;
  view.stop = clamp(index, 0, options.length - 1);
  options[view.stop].option.tabIndex = 0;
  if (focus) options[view.stop].option.focus();
}

/** The word nearest to this one on the line above (−1) or below (1). */
function onNextLine(view, index, direction) {
  const boxes = view.options.map(({ option }) => option.getClientRects()[0]);
  const from = boxes[index];
  const beyond = (box) => direction * (box.top - from.top) > from.height / 2;
  const distance = (box) => Math.abs(box.top - from.top) * 1000 + Math.abs(box.left - from.left);
  let best = index;
  boxes.forEach((box, i) => {
    if (beyond(box) && (best === index || distance(box) < distance(boxes[best]))) best = i;
  });
  return best;
}

function textKeys(view, index) {
  return {
    ArrowLeft: () => index - 1, ArrowRight: () => index + 1,
    ArrowUp: () => onNextLine(view, index, -1), ArrowDown: () => onNextLine(view, index, 1),
    Home: () => 0, End: () => view.options.length - 1,
  };
}

function listenToWords(view, list, model) {
  const indexOf = (event) => view.options.findIndex(({ option }) => option === event.target);
  const pinWord = (index) => {
    const { sentence, place } = view.options[index];
    pin(model, [sentence, place]);
  };
  list.addEventListener("keydown", (event) => {
    const index = indexOf(event);
    if (index < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const move = textKeys(view, index)[event.key];
    if (!move && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    if (move) giveTabStop(view, move(), true);
    else pinWord(index);
  });
  list.addEventListener("focusin", (event) => {
    const index = indexOf(event);
    if (index >= 0) giveTabStop(view, index, false);
    showTip(view, view.options[index]);
  });
  list.addEventListener("focusout", () => showTip(view, null));
  list.addEventListener("pointerover", (event) => showTip(view, view.options[indexOf(event)]));
  list.addEventListener("pointerleave", () => showTip(view, null));
  list.addEventListener("click", (event) => indexOf(event) >= 0 && pinWord(indexOf(event)));
}

/** The words that were not read, folded behind a line that counts them. */
function restBox(spec) {
  if (!spec.beyond) return "";
  const words = spec.rest.map((word) => shown(word, 80)).join(" ");
  return make("details", { class: "rest" },
    make("summary", { textContent: spec.beyond[0].toUpperCase() + spec.beyond.slice(1) }),
    make("p", { dir: "auto", textContent: words }));
}

function textLegend(spec) {
  if (!spec.weights) return "";
  const ticks = [0, 1, 2, 3].map((quarter) => [String((quarter * spec.clip) / 4), quarter / 4]);
  ticks.push([`≥ ${spec.clip}`, 1]);
  const name = `times the weight of uniform attention in the ${spec.over}`;
  return make("div", { class: "legend" }, ...ramp(spec.tints.map(dayAndNight), ticks), name);
}

/** What a kernel has said of the words and sentences since the spec was sent; a page without a
 *  kernel changes `spec.dress` itself. */
function takeDress(spec, model) {
  spec.dress = model.get("dress") ?? spec.dress;
  spec.shares = model.get("shares") ?? spec.shares;
}

export function mountText(root, model, listen) {
  const spec = model.get("spec");
  const view = { spec, options: [], chips: [], stop: 0 };
  takeDress(spec, model);
  view.tip = make("div", { class: "tip", role: "status", "aria-live": "polite" });
  const list = make("div", { class: spec.pressable ? "pressable" : "", role: "listbox", "aria-multiselectable": String(Boolean(spec.dress)), "aria-label": `${spec.title || spec.label || "Text"}: words${spec.weights ? " by weight" : ""}` });
  list.append(...spec.sentences.map((_, sentence) => sentenceRow(view, sentence)));
  view.figure = make("figure", { role: "group", "aria-label": spec.title || spec.label || "Attention over text" },
    ...(spec.title ? [make("figcaption", { dir: "auto", textContent: spec.title })] : []),
    list, restBox(spec), textLegend(spec), ...saveControl(model, listen), view.tip);
  root.append(view.figure);
  const select = () => {
    const selected = model.get("selected");
    for (const { option, sentence, place } of view.options)
      option.setAttribute("aria-selected", String(sameCell(selected, [sentence, place])
        || option.classList.contains("erased")));
  };
  listen("change:selected", select);
  listen("change:dress", () => {
    takeDress(spec, model);
    view.chips.forEach((_, sentence) => fillChip(view, sentence));
    view.options.forEach((entry) => dressWord(spec, entry));
    select();
    showTip(view, view.told); // of a word whose facts have changed
  });
  listenToWords(view, list, model);
  giveTabStop(view, 0, false);
  select();
}
