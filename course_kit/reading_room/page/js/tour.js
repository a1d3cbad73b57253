import { make } from "../../../../course_lib/views/heatmap/js/elements.js";
import { pushButton } from "./cards.js";

// Six steps through the page. Each shows something, and says what to look at.

const STEPS = [
  ["#cards", "The tint", "Five networks read one sentence. The stronger the tint of a word, the more attention a network pays it. The bars say what the network answers. Do the words with the strongest tint look like reasons?",
    (act) => act.example("negation")],
  ["#cards", "Take a word away", "“not” is now erased. Where an answer moved, that network needed it. Click any word, or press Enter on it, to erase it or put it back.",
    (act) => (act.example("negation"), act.pin(), act.erase(3))],
  ["#cards", "Where a weight comes from", "Below the cards stands how HAN came to its weight of “bad”. Next, Back and the arrow keys walk through the computation. Beside it you can turn the weight and see whether the answer cares.",
    (act) => (act.example("negation"), act.trace(true))],
  ["#tint", "Attention beside need", "The tint now shows leave-one-out: what the answer loses without each word. τ compares the order of words by attention with their order by need. 1 is the same order, −1 the opposite one, and 0 means that the two have nothing to do with each other.",
    (act) => (act.example("irony"), act.tint("drops"))],
  ["#uniform", "Without any attention", "Every word now has the same weight, in networks that were trained to weigh them. Where the answers hardly move, the attention was not what carried them.",
    (act) => (act.example("two-facts"), act.pin(), act.uniform(true))],
  ["#pin", "Pin and compare", "The pinned text has the two halves in another order. AGT cannot tell them apart. Now type a text of your own, pin it, and change one thing at a time.",
    (act) => act.example("order")],
];

/** The tour's panel; `act` does what a reader could do. */
export function makeTour(act) {
  const panel = make("section", { class: "tour", hidden: true, "aria-label": "Guided tour" });
  let step = 0;
  let [marked, opened, before] = [null, null, null];
  const mark = (selector) => {
    marked?.classList.remove("pointed");
    if (opened) opened.open = false;
    marked = selector ? document.querySelector(selector) : null;
    marked?.classList.add("pointed");
    opened = marked?.closest("details:not([open])");
    if (opened) opened.open = true;
  };
  function end() {
    panel.hidden = true;
    mark(null);
    act.trace(false);
    history.replaceState(null, "", before); // what was typed and pinned comes back
    dispatchEvent(new Event("hashchange"));
    act.done();
  }
  function start() {
    if (panel.hidden) before = act.address();
    show(0);
  }
  function show(number) {
    step = number;
    const [selector, title, text, run] = STEPS[step];
    const heading = make("h2", { tabIndex: -1, textContent: `${step + 1} of ${STEPS.length}: ${title}` });
    const buttons = step === STEPS.length - 1 ? [pushButton("Done", end)]
      : [pushButton("Next", () => show(step + 1)), pushButton("End the tour", end)];
    if (step) buttons.unshift(pushButton("Back", () => show(step - 1)));
    panel.replaceChildren(heading, make("p", { textContent: text }),
      make("p", { class: "buttons" }, ...buttons));
    panel.hidden = false;
    act.trace(false);
    run(act);
    mark(selector);
    heading.focus({ preventScroll: true });
    const phone = getComputedStyle(panel).position === "fixed"; // the panel leaves room for one thing
    document.querySelector(phone ? "#cards" : selector).scrollIntoView();
  }
  panel.addEventListener("keydown", (event) => event.key === "Escape" && end());
  return { panel, start };
}
