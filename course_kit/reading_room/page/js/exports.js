import { make } from "../../../views/heatmap/js/elements.js";
import { agreement, answerOf, dressReading } from "./dress.js";
import { howRead } from "./pins.js";

// What is shown, as files: numbers as JSON, a page of its own as HTML.

export function save(name, type, content) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The readers whose reading is shown: [model, shown, drops]. */
export function shownReaders(room) {
  return room.models
    .filter(({ id }) => room.state.readers.includes(id) && room.shown.has(id))
    .map((model) => [model, room.shown.get(model.id), room.drops.get(model.id) ?? []]);
}

export function asJson(room) {
  const readings = shownReaders(room).map(([model, shown, drops]) => ({
    reader: model, ...shown.asked, ...shown.reading, drops, ...agreement(shown, drops),
  }));
  const pins = room.pins.map(({ asked, readings: kept }) => ({ ...asked, readings: [...kept.values()] }));
  return JSON.stringify({ page: "the reading room", readings, pins }, null, 1);
}

const STYLES = `body{font:16px/1.6 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;
color:#1d2433;background:#fff}span{padding:1px 3px;border-radius:3px}s{color:#667085}small{color:#5b6577}`;

function exportedReader(page, room, [model, shown, drops]) {
  const element = (tag, text) => Object.assign(page.createElement(tag), { textContent: text });
  const words = page.createElement("p");
  words.dir = "auto";
  const dress = dressReading(shown, drops, room.state.tint, room.told);
  shown.reading.tokens.forEach((sentence, i) => sentence.forEach((token, j) => {
    const { colour, fact, marks } = dress[i][j];
    const word = element(marks.includes("erased") ? "s" : "span", token);
    word.title = [fact, ...marks].filter(Boolean).join(", ");
    word.style.background = colour;
    words.append(word, " ");
  }));
  const chances = model.classes.map((name, i) => `${name} ${shown.reading.probabilities[i].toFixed(3)}`);
  const { tau } = agreement(shown, drops);
  return [
    element("h2", `${model.title}, ${model.dataset}: ${answerOf(model, shown.reading)}`), words,
    element("p", chances.join(" · ")),
    element("small", `record ${model.record}${tau === null ? "" : `; attention with leave-one-out τ = ${tau.toFixed(2)}`}`),
  ];
}

export function asHtml(room) {
  const page = document.implementation.createHTMLDocument("A reading in the reading room");
  const policy = page.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "default-src 'none'; style-src 'unsafe-inline'";
  const charset = page.createElement("meta");
  charset.setAttribute("charset", "utf-8");
  page.head.prepend(charset, policy);
  const tint = room.state.tint === "drops"
    ? "The tint of a word is what the answer loses without it." : "The tint of a word is its attention.";
  const how = howRead(room.state.asked);
  page.body.append(
    Object.assign(page.createElement("h1"), { textContent: "A reading" }),
    Object.assign(page.createElement("p"), { textContent: `${tint}${how && ` (${how})`}` }),
    ...shownReaders(room).flatMap((reader) => exportedReader(page, room, reader)));
  // this page's policy would refuse the style sheet as an element; the head holds nothing but ours
  const whole = page.documentElement.outerHTML.replace("</head>", `<style>${STYLES}</style></head>`);
  return `<!DOCTYPE html>\n${whole}`;
}
