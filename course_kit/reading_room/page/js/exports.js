import { make } from "../../../../course_lib/views/heatmap/js/elements.js";
import { agreement } from "./render.js";
import { sameQuestion } from "./state.js";

// What is shown of one text, as a file of numbers. The address of the page shares the view itself.

export function save(name, type, content) {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The weight that is traced, and what was turned of it; null where none is. */
function tracedOf({ reader, trace, turned, everywhere, answer, compared }) {
  return trace && { reader, ...trace, turned, everywhere, answer, compared };
}

/** What the chosen readers have read of what is asked now, who has not read it yet, the pin, and the
 *  weight that is traced. */
export function asJson({ models, state, shown, pin, inspection }) {
  const readers = models.filter(({ id }) => state.readers.includes(id));
  const hasRead = ({ id }) => shown.has(id) && sameQuestion(shown.get(id).asked, state.asked);
  const readings = readers.filter(hasRead).map((reader) => {
    const { asked, reading } = shown.get(reader.id);
    return { reader, ...asked, drops: [], ...reading, ...agreement(shown.get(reader.id)) };
  });
  const still = readers.filter((reader) => !hasRead(reader)).map(({ id }) => id);
  const pinned = pin && { ...pin.asked, readings: [...pin.shown.values()].map(({ reading }) => reading) };
  return JSON.stringify({ page: "the reading room", readings, "not read yet": still, pinned, traced: tracedOf(inspection) }, null, 1);
}
