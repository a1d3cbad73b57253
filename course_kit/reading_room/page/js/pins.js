import { make } from "../../../views/heatmap/js/elements.js";
import { answerOf, mostLikely, signed } from "./dress.js";

// Readings that were kept, beside what is read now.

/** A text with the words that were taken out struck through, as far as its words are known. */
export function struckText({ text, erased }, reading) {
  if (!erased.length || !reading) return [text];
  const gone = new Set(erased);
  return reading.tokens.flat().flatMap((token, i) =>
    [gone.has(i) ? make("s", { textContent: token }) : token, " "]);
}

export function howRead({ removal, uniform, erased }) {
  const how = [erased.length && (removal === "mask" ? "masked" : "deleted"), uniform && "uniform attention"];
  return how.filter(Boolean).join(", ");
}

function pinnedCell(model, pin, now) {
  const reading = pin.readings.get(model.id);
  const cell = make("td", {}, reading ? answerOf(model, reading) : "…");
  if (!reading || !now) return cell;
  const best = mostLikely(reading.probabilities);
  const change = now.probabilities[best] - reading.probabilities[best];
  cell.append(make("span", { textContent: ` now ${signed(change)}` }));
  return cell;
}

/** The table of pins; `act` has `show(pin)`, `compare(pin)` and `remove(pin)`. */
export function drawPins(place, room, act) {
  const { pins, shown } = room;
  place.hidden = !pins.length;
  if (!pins.length) return place.replaceChildren();
  const models = room.models.filter(({ id }) => room.state.readers.includes(id));
  const head = ["Pinned text", ...models.map(({ title }) => title), ""].map((text) =>
    make("th", { scope: "col", textContent: text }));
  const rows = pins.map((pin, i) => {
    const any = [...pin.readings.values()][0];
    const button = (text, run) => {
      const made = make("button", {
        type: "button", textContent: text, "aria-label": `${text} pinned text ${i + 1}`,
      });
      made.addEventListener("click", () => run(pin));
      return made;
    };
    const buttons = [button("Go back to", act.show), " "];
    if (i < pins.length - 1) buttons.push(button("Compare with", act.compare), " ");
    buttons.push(button("Unpin", act.remove));
    const how = howRead(pin.asked);
    return make("tr", {},
      make("th", { scope: "row", dir: "auto" }, ...struckText(pin.asked, any),
        make("span", { textContent: how && ` (${how})` })),
      ...models.map((model) => pinnedCell(model, pin, shown.get(model.id)?.reading)),
      make("td", {}, ...buttons));
  });
  const note = "“Now” says by how much the pinned answer's probability has changed. The cards show the last pinned text.";
  place.replaceChildren(
    make("h2", { textContent: "Pinned readings" }),
    make("div", { class: "wide", tabIndex: 0, role: "region", "aria-label": "Pinned readings" },
      make("table", { class: "pins" }, make("thead", {}, make("tr", {}, ...head)),
        make("tbody", {}, ...rows))),
    make("p", { class: "small", textContent: note }));
}
