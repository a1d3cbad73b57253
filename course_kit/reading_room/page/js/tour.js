import { make } from "../../../../course_lib/views/heatmap/js/elements.js";
import { pushButton } from "./cards.js";

// Six steps through the page. Each shows something, and says what to look at.

const STEPS = [
  ["#cards", "The tint", "Five networks read one sentence. The stronger the tint of a word, the more weight a network’s attention gives it. The bars show the network’s answer. Do the words with the strongest tint look like reasons?",
    (act) => act.example("negation")],
  ["#cards", "Take a word away", "“not” is now erased. Where an answer moved, that network had used the word. Click or tap any word, or press Enter on it, to erase it or put it back.",
    (act) => (act.example("negation"), act.pin(), act.erase(3))],
  [".drawer:not([hidden])", "Where a weight comes from", "The panel that has opened shows how HAN computed its weight of “bad”, step by step. Choose a step by its name, or press the panel’s own Next. In the same panel, under “Change a weight”, you can see what the answer does with another weight.",
    (act) => (act.example("negation"), act.trace(4))],
  ["#tint", "Attention beside need", "The tint now shows leave-one-out: what the answer loses without each word. τ compares the order of words by attention with their order by need. 1 is the same order, −1 the opposite one, and 0 means that the two have nothing to do with each other.",
    (act) => (act.example("irony"), act.tint("drops"))],
  ["#uniform", "Uniform attention", "Every attention weight is now the same, in networks that were trained to choose them. Where the answers hardly move, the attention was not what carried them. SANet’s tints still differ: they also count how many of the largest values, which SANet answers from, come from each word.",
    (act) => (act.example("two-facts"), act.pin(), act.uniform(true))],
  ["#pin", "Pin and compare", "The pinned text has the two halves in another order. AGT cannot tell them apart. Now type a text of your own, pin it, and change one thing at a time.",
    (act) => act.example("order")],
];

/** The tour's panel; `act` does what a reader could do. */
export function makeTour(act) {
  const panel = make("section", { class: "tour", hidden: true, "aria-label": "Guided tour" });
  const button = pushButton("Guided tour", start);
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
    act.trace(null);
    history.replaceState(null, "", before); // what was typed and pinned comes back
    dispatchEvent(new Event("hashchange"));
    button.focus();
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
      : [pushButton("Next stop", () => show(step + 1)), pushButton("End the tour", end)];
    if (step) buttons.unshift(pushButton("Previous stop", () => show(step - 1)));
    panel.replaceChildren(heading, make("p", { textContent: text }),
      make("p", { class: "buttons" }, ...buttons));
    panel.hidden = false;
    act.trace(null);
    run(act);
    mark(selector);
    heading.focus({ preventScroll: true });
    const phone = matchMedia("(max-width: 36rem)").matches; // there is room for one thing, the answers
    const shown = marked.matches(".drawer") ? marked : document.getElementById(phone ? "cards" : "live");
    shown.scrollIntoView();
  }
  panel.addEventListener("keydown", (event) => event.key === "Escape" && end());
  return { panel, button };
}
