import { make } from "../../../../course_lib/views/heatmap/js/elements.js";
import { agreement } from "./render.js";
import { sameQuestion } from "./state.js";

// What is shown of one text, as a file of numbers. The address of the page shares the view itself.

export function save(name, type, content) {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The readers who have read what is asked now: [model, shown, drops]. */
export function shownReaders({ models, state, shown, drops }) {
  const read = ({ id }) => shown.has(id) && sameQuestion(shown.get(id).asked, state.asked);
  return models
    .filter((model) => state.readers.includes(model.id) && read(model))
    .map((model) => [model, shown.get(model.id), drops.get(model.id) ?? []]);
}

export function asJson(room) {
  const readings = shownReaders(room).map(([model, shown, drops]) => ({
    reader: model, ...shown.asked, ...shown.reading, drops, ...agreement(shown, drops),
  }));
  const pinned = room.pin && { ...room.pin.asked, readings: [...room.pin.readings.values()] };
  const still = room.state.readers.filter((id) => !readings.some(({ reader }) => reader.id === id));
  return JSON.stringify({ page: "the reading room", readings, "not read yet": still, pinned }, null, 1);
}
