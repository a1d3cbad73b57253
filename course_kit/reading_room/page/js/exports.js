import { make } from "../../../../course_lib/views/heatmap/js/elements.js";
import { agreement } from "./render.js";

// What is shown, as a file of numbers. The address of the page shares the view itself.

export function save(name, type, content) {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
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
  const pinned = room.pin && { ...room.pin.asked, readings: [...room.pin.readings.values()] };
  return JSON.stringify({ page: "the reading room", readings, pinned }, null, 1);
}
