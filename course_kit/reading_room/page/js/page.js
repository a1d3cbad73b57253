import { make } from "../../../../course_lib/views/heatmap/js/elements.js";
import { openDesk } from "./asking.js";
import { makeCard, makeLegend, pushButton } from "./cards.js";
import { asJson, save } from "./exports.js";
import { followSite } from "./night.js";
import { makeRoom } from "./room.js";
import { ofExample, question, readAddress, sameQuestion, withWord } from "./state.js";
import { makeTour } from "./tour.js";

// The controls of the room, and how they follow its state.

const QUIET = 150; // milliseconds without a key before a text is read

/** A group of inputs with one name; `run` is told of the one that was chosen. */
function inputGroup(id, legend, type, choices, run) {
  const inputs = choices.map(([value, text]) => {
    const input = make("input", { type, name: id, value });
    input.addEventListener("change", () => run(input));
    return [input, make("label", {}, input, ` ${text}`)];
  });
  const group = make("fieldset", { id }, make("legend", { textContent: legend }),
    ...inputs.map(([, label]) => label));
  const check = (values) => inputs.forEach(([input]) => (input.checked = values.includes(input.value)));
  return { group, check };
}

function textBox(room) {
  const box = make("textarea", {
    id: "text", rows: 2, maxLength: 20_000, dir: "auto", spellcheck: false, autocomplete: "off",
  });
  let typing = 0;
  box.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      const { removal, uniform } = room.state.asked;
      room.change({ asked: question(box.value, [], removal, uniform) });
    }, QUIET);
  });
  return box;
}

/** Controls that a phone folds, so that the answers stand under the text. */
function foldedOnPhones(text, ...content) {
  const fold = make("details", { class: "settings", "aria-label": text }, make("summary", { textContent: text }), ...content);
  const phone = matchMedia("(max-width: 36rem)");
  const follow = () => (fold.open = !phone.matches);
  phone.addEventListener("change", follow);
  follow();
  return fold;
}

function makeControls(room) {
  const removal = inputGroup("removal", "Erase a word by", "radio",
    [["delete", "deletion"], ["mask", "the unknown word"]], ({ value }) => room.ask({ removal: value }));
  const tint = inputGroup("tint", "Tint", "radio",
    [["attention", "attention"], ["drops", "leave-one-out"]],
    ({ value }) => room.change({ tint: value }, room.example));
  const readers = inputGroup("reader", "Readers", "checkbox",
    room.models.map(({ id, title, dataset }) => [id, `${title}, ${dataset}`]), ({ value, checked }) => {
      const others = room.state.readers.filter((id) => id !== value);
      const chosen = checked ? [...others, value] : others;
      const order = room.models.map(({ id }) => id).filter((id) => chosen.includes(id));
      last.textContent = order.length ? "" : "One reader has to stay. Tick another one first.";
      room.change({ readers: order.length ? order : room.state.readers }, room.example);
    });
  const last = make("p", { class: "last", role: "status" });
  readers.group.append(last);
  const click = inputGroup("click", "A click or tap on a word", "radio",
    [["erase", "erases it"], ["trace", "traces its weight"]], ({ value }) => (room.click = value));
  click.check([room.click]);
  const uniform = make("input", { type: "checkbox" });
  uniform.addEventListener("change", () => room.ask({ uniform: uniform.checked }));
  const restore = pushButton("Put all words back", () => room.ask({ erased: [] }));
  const pin = pushButton("Pin this reading", () => room.togglePin(), { id: "pin" });
  const file = pushButton("Save as JSON", () =>
    save("reading.json", "application/json", asJson(room)));
  const bar = make("div", { class: "controls" }, tint.group, click.group, removal.group,
    make("p", { id: "uniform" }, make("label", {}, uniform, " replace all weights by uniform ones")), readers.group,
    make("p", { class: "buttons" }, pin, " ", file));
  function draw() {
    const { asked, tint: kind, readers: chosen } = room.state;
    removal.check([asked.removal]);
    tint.check([kind]);
    readers.check(chosen);
    uniform.checked = asked.uniform;
    restore.hidden = !asked.erased.length;
    pin.textContent = room.pin ? "Unpin" : "Pin this reading";
  }
  return { bar: foldedOnPhones("Tint, clicks, readers", bar), restore, draw };
}

function makeExamples(room, tour) {
  const watch = make("p", { class: "watch", role: "status" });
  const buttons = room.told.examples.map((example) => [example.name, pushButton(example.title, () => {
    if (isOwn()) own = room.address();
    room.goTo(ofExample(example), example.name);
  })]);
  let own = null; // the address of a text of the reader's own, which an example has replaced
  const isOwn = () => room.state.asked.text.trim()
    && !room.told.examples.some(({ texts }) => texts.includes(room.state.asked.text));
  const back = pushButton("Back to your text", () => {
    history.replaceState(null, "", own);
    dispatchEvent(new Event("hashchange"));
    own = null;
    draw();
  });
  const group = make("div", { class: "examples", role: "group", "aria-label": "Examples" },
    room.told.pretrained ? "" : tour.button, ...buttons.map(([, button]) => button), back);
  function draw() {
    for (const [name, button] of buttons)
      button.setAttribute("aria-pressed", String(name === room.example));
    back.hidden = !own || isOwn();
    const text = room.told.examples.find(({ name }) => name === room.example)?.watch ?? "";
    if (watch.textContent !== text) watch.textContent = text;
  }
  return { group, watch, draw };
}

/** What the controls say, in one line for paper. */
function settingsOf({ models, state: { asked, tint, readers } }) {
  const names = models.filter(({ id }) => readers.includes(id)).map(({ title, dataset }) => `${title} (${dataset})`);
  return `${names.join(", ")}. Tint: ${tint === "drops" ? "leave-one-out" : "attention"}. `
    + `${asked.text.match(/\S+/g)?.length ?? 0} words, ${asked.erased.length} erased by `
    + `${asked.removal === "mask" ? "the unknown word" : "deletion"}${asked.uniform ? ". All weights uniform" : ""}.`;
}

/** What the tour may do to the room. */
function actionsOf(room, cards) {
  const named = (name) => room.told.examples.find((example) => example.name === name);
  return {
    example: (name) => room.goTo(ofExample(named(name)), name),
    erase: (index) => room.change({ asked: withWord(room.state.asked, index) }, room.example),
    pin: () => room.pin ?? room.togglePin(),
    tint: (tint) => room.change({ tint }, room.example),
    uniform: (uniform) => room.ask({ uniform }),
    address: () => room.address(),
    trace: (word) => (word === null ? room.inspection.open(null)
      : cards.get(room.state.readers[0]).trace(word)),
  };
}

function start() {
  const told = JSON.parse(document.getElementById("told").textContent);
  const parts = { cards: new Map() };
  const status = make("p", { id: "took", class: "small", "aria-hidden": "true" }); // read aloud from `heard`
  const heard = make("p", { class: "heard", role: "status" });
  const paper = make("p", { id: "paper", class: "small" });
  let pause = 0;
  /** Shows how things stand; a moment later that is read aloud, or else what the networks answer. */
  const say = (text, answered) => {
    status.textContent = text;
    clearTimeout(pause);
    pause = setTimeout(() => (heard.textContent = answered ? room.answers() : text), 1000);
  };
  const drawCard = (id) => {
    const shown = room.shown.get(id);
    const stale = Boolean(shown && !sameQuestion(shown.asked, room.state.asked));
    parts.cards.get(id)?.draw(shown, room.pin?.shown.get(id), stale);
  };
  const drawTrace = () => parts.cards.forEach((card) => card.drawTrace());
  const draw = () => {
    if (box.value !== room.state.asked.text) box.value = room.state.asked.text;
    examples.draw();
    controls.draw();
    legend.draw();
    paper.textContent = settingsOf(room);
    for (const [id, { element, drawers }] of parts.cards) {
      element.hidden = !room.state.readers.includes(id);
      drawers.forEach((drawer) => drawer.classList.toggle("away", element.hidden));
    }
    room.state.readers.forEach(drawCard);
  };
  if (told.in_site) followSite();
  const room = makeRoom(told, { draw, drawCard, drawTrace, say });
  const [box, legend, controls] = [textBox(room), makeLegend(room), makeControls(room)];
  const actions = actionsOf(room, parts.cards);
  const tour = makeTour(actions);
  const examples = makeExamples(room, tour);
  const cards = make("div", { id: "cards", class: "cards", tabIndex: -1, role: "group", "aria-label": "Results" });
  for (const model of told.models) {
    const card = makeCard(room, model, (place) => {
      if (room.click === "erase") return actions.erase(place);
      card.trace(place);
      return card.arrive();
    });
    parts.cards.set(model.id, card);
    cards.append(card.element, ...card.drawers);
  }
  const live = document.getElementById("live");
  live.append(tour.panel, examples.group, examples.watch,
    make("label", { htmlFor: "text", class: "boxname", textContent: "Your text" }), box,
    controls.bar, make("div", { class: "scale" }, legend.host, controls.restore, status, paper), legend.tau, heard, cards);
  document.querySelector(".skips").addEventListener("click", (event) => {
    event.preventDefault(); // the address keeps the state of the room
    live.querySelector(event.target.hash).focus();
  });
  const go = () => {
    const usual = ofExample(told.examples[0]);
    const known = told.models.map(({ id }) => id);
    const state = readAddress(location.hash, usual, known, told.examples);
    const named = told.examples.find(({ texts }) => texts[0] === state.asked.text);
    return room.goTo(state, named?.name);
  };
  addEventListener("hashchange", go);
  go();
  live.hidden = false;
  document.getElementById("static").remove();
  const [program, bundle] = ["engine", "bundle"].map((id) => document.getElementById(id).textContent);
  room.open(openDesk(JSON.parse(program), bundle));
}

start();
