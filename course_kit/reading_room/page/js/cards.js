import { dayAndNight, labelled, make, ramp } from "../../../../course_lib/views/heatmap/js/elements.js";
import { STYLE } from "../../../../course_lib/views/heatmap/js/style.js";
import { mount, wear } from "../../../../course_lib/views/heatmap/js/entry.js";
import { makeDrawer } from "./drawers.js";
import { byDayAndNight, isNight, nightColours } from "./night.js";
import {
  MOST_DROP, agreement, answerOf, keepFacts, renderTokens, matrixOf, mostLikely, signed, strongestText, wordsOf,
} from "./render.js";
import { makeChoices, makeTrace } from "./trace.js";
import { makeTurn } from "./turn.js";

// A reader's card: probabilities, tinted words, and where the weights come from. Below it open rows of
// attention, and the trace of a weight.

export function pushButton(text, run, properties = {}) {
  const made = make("button", { type: "button", textContent: text, ...properties });
  made.addEventListener("click", run);
  return made;
}

/** An element with a shadow root that wears the course's colours, by day and by night. */
function viewHost(colours) {
  const host = make("div", { class: "view" });
  byDayAndNight(() => wear(host, colours, isNight()));
  return { host, root: host.attachShadow({ mode: "open" }) };
}

/** What the views ask of a model: traits in a plain object. `onWord` is told of a word that was
 *  clicked, or on which Enter was pressed. */
function viewModel(traits, onWord) {
  const heard = {};
  const tell = (name) => (heard[`change:${name}`] ?? []).forEach((run) => run());
  return {
    get: (name) => traits[name] ?? null,
    set: (name, value) => {
      if (name === "selected" && onWord) return onWord(value);
      traits[name] = value;
      tell(name);
    },
    save_changes() {},
    on: (event, run) => (heard[event] ??= []).push(run),
    tell,
  };
}

/** Tinted words that can be drawn again in place, so that the focus stays where it is. */
function wordsView(room, label, onWord) {
  const { host, root } = viewHost(room.told.colours);
  let drawn = null;
  function draw(shown) {
    const dress = renderTokens(shown, room.state.tint, room.told)
      .filter((sentence) => sentence.length);
    const text = JSON.stringify(shown.reading.tokens);
    if (drawn?.text === text) {
      drawn.spec.dress = keepFacts(dress, drawn.spec.dress);
      return drawn.model.tell("dress");
    }
    const sentences = shown.reading.tokens.filter((sentence) => sentence.length);
    root.replaceChildren();
    const spec = { kind: "text", title: "", label: onWord ? `${label}; Enter erases or traces a word` : label, sentences, unit: "sentence", dress };
    const model = viewModel({ spec }, onWord && (([sentence, place]) =>
      onWord(sentences.slice(0, sentence).flat().length + place)));
    mount(root, model, null, model.on);
    drawn = { text, spec, model };
  }
  return { host, draw };
}

function barRow(name, share, pinned) {
  const bar = make("i");
  bar.style.width = `${100 * share}%`;
  const cell = make("td", { class: "bar" }, bar);
  const change = make("td", { class: "change" });
  if (pinned !== undefined) {
    const tick = make("b");
    tick.style.left = `${100 * pinned}%`;
    cell.append(tick);
    change.textContent = signed(share - pinned);
  }
  return make("tr", {}, make("th", { scope: "row", dir: "auto", textContent: name }), cell,
    make("td", { textContent: share.toFixed(2) }), change);
}

function drawBars(table, model, reading, pinned) {
  const rows = model.classes.map((name, i) =>
    barRow(name, reading.probabilities[i], pinned?.probabilities[i]));
  rows[mostLikely(reading.probabilities)].className = "most";
  const columns = ["Class", "Bar", "Probability", "Change since pinned"].map((text) =>
    make("th", { scope: "col", textContent: text }));
  const widths = ["name", "drawn", "share", pinned ? "differs" : "same"].map((kind) => make("col", { class: kind }));
  table.replaceChildren(
    make("caption", { class: "heard", textContent: `${model.title} says ${answerOf(model, reading)}` }),
    make("colgroup", {}, ...widths),
    make("thead", { class: "heard" }, make("tr", {}, ...columns)), make("tbody", {}, ...rows));
}

function tauText(shown) {
  const { tau, done, all } = agreement(shown);
  if (!done || !all) return "";
  const value = tau === null ? "no order to compare" : tau.toFixed(2).replace("-", "−");
  return `τ with leave-one-out: ${value}${done < all ? `, ${done} of ${all} words so far` : ""}`;
}

const HEAD = " · "; // between the names of a layer and of a head

/** The attention of a reading that can be drawn and whose name begins so. */
function namesOf({ attention }, start) {
  const drawable = Object.entries(attention).filter(([, { weights }]) => weights[0]?.length);
  return drawable.map(([name]) => name).filter((name) => name.startsWith(start));
}

/** The heatmap of a reading's rows, drawn when its drawer is open. */
function rowsDrawer(room, model) {
  const choice = make("select");
  const head = make("select", { "aria-label": "Which head" });
  const place = make("div");
  const parts = makeDrawer(`rows-${model.id}`, "Where it looks, row by row",
    `${model.title}, ${model.dataset}: where it looks`, () => draw(),
    make("p", { class: "choice" }, labelled("Which attention ", choice), " ", head), place);
  let [reading, end] = [null, null];
  let night = null; // the map's colours on dark paper
  function draw() {
    end?.();
    end = null;
    place.replaceChildren();
    if (parts.drawer.hidden || !reading || !choice.value) return;
    const heads = namesOf(reading, `${choice.value}${HEAD}`);
    if (head.options.length !== heads.length + 1)
      head.replaceChildren(new Option("mean of its heads", ""),
        ...heads.map((name) => new Option(name.split(HEAD)[1], HEAD + name.split(HEAD)[1])));
    head.hidden = !heads.length;
    const name = heads.length ? choice.value + head.value : choice.value;
    const { host, root } = viewHost(room.told.colours);
    place.append(host);
    const [spec, codes] = matrixOf(reading, name, room.told.colours);
    if (isNight()) {
      night ??= nightColours(spec.colours, room.told.colours.night);
      Object.assign(spec, { colours: night, theme: spec.dark });
    }
    const traits = { spec, zoom: 1, scale: "linear", most: spec.peak, normalise: false };
    const model = viewModel(traits);
    end = mount(root, model, codes, model.on);
  }
  [choice, head].forEach((one) => one.addEventListener("change", draw));
  byDayAndNight(draw);
  function show(next) {
    const names = next ? namesOf(next, "").filter((name) => !name.includes(HEAD)) : [];
    if (String(names) !== String([...choice.options].map((option) => option.value)))
      choice.replaceChildren(...names.map((name) => new Option(name, name)));
    parts.button.hidden = !names.length;
    if (!names.length) parts.open(false);
    choice.closest("p").hidden = names.length < 2;
    const changed = reading !== next;
    reading = next;
    if (changed) draw();
  }
  return { ...parts, show };
}

/** Why no trace is shown, where there is none: nothing was asked yet, or of this question there is none. */
function whyUntraced(asked) {
  if (!asked) return "reading …";
  return asked.uniform
    ? "All weights are uniform now, so there is nothing to trace. Untick “replace all weights by uniform ones”."
    : "There are no words to read.";
}

/** The drawer in which a weight of the reader is traced and turned. */
function traceDrawer(room, model) {
  const { inspection } = room;
  const waiting = make("p", { class: "small" });
  const choices = makeChoices(inspection.choose);
  const look = { classes: model.classes, colours: room.told.colours.signed, inSite: room.told.in_site };
  const steps = makeTrace(`trace-${model.id}`, look);
  const turning = makeTurn(model.classes, { turn: inspection.turn, everywhere: inspection.everywhereIs });
  const body = make("div", { class: "inspected" }, steps.element, turning.element);
  const parts = makeDrawer(`inspect-${model.id}`, "Trace a weight",
    `${model.title}, ${model.dataset}: how a weight is computed`,
    (open) => (open ? traceWord(null) : inspection.open(null)), waiting, choices.element, body);
  let drawn = null; // the trace whose steps are shown
  let arriving = false; // the drawer comes into view when its trace is there
  /** Traces a word, the heaviest if none is named, and brings the drawer into view. */
  function traceWord(word) {
    arriving = true;
    return inspection.open(model.id, word);
  }
  /** Brings what was traced into view, and the focus from the heading to where the arrow keys walk. */
  function arrived() {
    arriving = false;
    if (document.activeElement === parts.heading) steps.focus();
    parts.drawer.scrollIntoView({ block: "nearest" });
  }
  function draw() {
    const { reader, trace, asked, turned, moved, everywhere, answer, compared } = inspection;
    parts.open(reader === model.id);
    if (reader !== model.id) return steps.restart();
    body.hidden = choices.element.hidden = !trace;
    waiting.hidden = Boolean(trace);
    waiting.textContent = trace ? "" : whyUntraced(asked);
    if (!trace) return;
    choices.draw(trace);
    if (drawn !== trace) steps.draw(trace);
    drawn = trace;
    turning.draw(trace, { turned, moved, everywhere }, { own: trace.own, turned: answer, compared });
    if (arriving) arrived();
  }
  return { ...parts, draw, trace: traceWord };
}

/** Who a reader is, in a line, and which lesson builds it. */
function introduction({ about, lesson }, inSite) {
  if (!about) return "";
  const text = `Lesson ${lesson.slice(0, 2)}`;
  const place = inSite ? make("a", { href: `${lesson}.html`, textContent: text }) : text;
  return make("p", { class: "small who" }, `${about} `, place, ".");
}

function aboutFold(model) {
  const facts = [
    ["Its tint", model.tint], ["Learned from", model.data],
    ["Right on the test texts", model.accuracy === null || model.accuracy === undefined
      ? "not measured" : `${(100 * model.accuracy).toFixed(1)} %`],
    ["Vectors", model.vectors], ["Record", model.record], ["Note", model.note],
    ["Rounded for this page", model.packing],
  ].filter(([, text]) => text);
  const terms = facts.flatMap(([name, text]) =>
    [make("dt", { textContent: name }), make("dd", { textContent: text })]);
  return make("details", { class: "about" },
    make("summary", { textContent: "About these weights" }), make("dl", {}, ...terms));
}

/** What a network does not know or read of a text, and whether it knows less than half. */
function unreadText({ tokens, known, read }) {
  const all = read.filter(Boolean).length;
  const beyond = tokens.length - all;
  const unknown = known.filter((one, i) => !one && read[i]).length;
  const few = 2 * unknown > all;
  const some = `only ${all - unknown} of ${all} words (the others are dotted)`;
  const knows = `Knows ${unknown < all ? some : "no word of it"}, so its answer says little about this text`;
  return [[
    few ? knows : unknown && `${unknown} of ${tokens.length} words unknown (dotted)`,
    beyond && `${beyond} not read`,
  ].filter(Boolean).join("; "), few];
}

/** A reader's card and its drawers; `draw(shown, pinned, stale)` shows a reading, and the pinned one
 *  beside it; `stale` says that a newer text is being read. */
export function makeCard(room, model, onWord) {
  const bars = make("table", { class: "bars" });
  const words = wordsView(room, `${model.title}, ${model.dataset}`, onWord);
  const before = wordsView(room, `${model.title}, ${model.dataset}, pinned`, null);
  const [tau, told] = [make("p", { class: "small tau" }), make("p", { class: "small" })];
  const strongest = make("p", { class: "small strongest" });
  const [rows, tracing] = [rowsDrawer(room, model), traceDrawer(room, model)];
  const pinnedTold = make("p", { class: "small" });
  const pinnedPart = make("div", { class: "pinned" }, pinnedTold, before.host);
  const name = make("h2", {}, `${model.title} `, make("span", { textContent: model.dataset }));
  const body = make("div", { class: "read", hidden: true },
    bars, words.host, strongest, tau, told, pinnedPart);
  const waiting = make("p", { class: "small" });
  const busy = make("span", { class: "busy", textContent: "reading …" });
  const folds = make("div", { class: "folds" }, tracing.button, rows.button);
  const element = make("section", { class: "card", "aria-label": `${model.title}, ${model.dataset}` },
    name, busy, introduction(model, room.told.in_site), waiting, body, folds, aboutFold(model));
  function draw(shown, pinned, stale) {
    const [now, then] = [shown, pinned].map((one) => one && wordsOf(one.reading));
    const rankTold = (one) => (room.state.tint === "drops" ? tauText(one) : "");
    body.hidden = folds.hidden = !now?.tokens.length;
    element.classList.toggle("stale", stale);
    element.setAttribute("aria-busy", String(stale));
    waiting.textContent = shown ? "Type a text above to see its answer." : "Waiting for its weights …";
    waiting.hidden = !body.hidden;
    pinnedPart.hidden = !then?.tokens.length;
    if (body.hidden) return rows.show(null);
    drawBars(bars, model, shown.reading, pinned?.reading);
    words.draw(shown);
    strongest.textContent = strongestText(shown, room.state.tint);
    tau.textContent = rankTold(shown);
    const [unread, few] = unreadText(now);
    told.textContent = unread;
    told.classList.toggle("few", few);
    rows.show(shown.reading);
    if (pinnedPart.hidden) return;
    before.draw(pinned);
    pinnedTold.textContent = ["Pinned, with its probabilities marked above", rankTold(pinned)]
      .filter(Boolean).join("; ");
  }
  return { element, drawers: [tracing.drawer, rows.drawer], draw, drawTrace: tracing.draw,
    trace: tracing.trace, arrive: tracing.arrive };
}

/** The scale of the tints, for all cards. */
export function makeLegend(room) {
  const { host, root } = viewHost(room.told.colours);
  const box = make("div", { class: "legend" });
  root.append(make("style", { textContent: STYLE }), make("figure", {}, box));
  const tau = make("p", { class: "small", textContent: "τ (Kendall’s rank correlation) compares the order of a text’s words by attention with their order by leave-one-out: 1 is the same order, −1 the opposite one, 0 no relation. Every word counts alike, so many words near zero can decide it." });
  function draw() {
    const { colours, clip } = room.told;
    const drops = room.state.tint === "drops";
    tau.hidden = !drops;
    const marks = drops ? [-1, -0.5, 0, 0.5, 1] : [0, 1, 2, 3, 4];
    const ticks = drops
      ? marks.map((share) => [share ? signed(share * MOST_DROP) : "0", (share + 1) / 2])
      : marks.map((times) => [times === clip ? `≥ ${clip}` : String(times), times / clip]);
    const name = drops
      ? "what the answer's probability loses without the word"
      : "a word’s weight, as a multiple of uniform attention";
    box.replaceChildren(...ramp((drops ? colours.signed : colours.tints).map(dayAndNight), ticks), name);
  }
  return { host, tau, draw };
}
