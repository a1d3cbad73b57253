import { factorsOf } from "./traced.js";
import { sameQuestion } from "./state.js";

// The one weight that is traced and turned: what of it is asked, and what is known.

/** `tell()` shows how it stands; `follow()` lets the room ask the networks for what is missing. */
export function makeInspection(room, { tell, follow }) {
  const none = { trace: null, turned: null, moved: [], answer: null, compared: null };
  const inspection = { reader: null, word: null, choice: {}, everywhere: true, asked: null, ...none };
  const fresh = () => Object.assign(inspection, none);
  const rowOf = () => inspection.trace.row;
  const where = () => ({
    path: rowOf().path, everywhere: inspection.everywhere && !rowOf().alone,
  });

  /** Traces a word of a reader, the heaviest if none is named; null ends it. */
  inspection.open = (reader, word = null) => {
    const same = reader === inspection.reader;
    Object.assign(inspection, { reader, word, choice: same ? inspection.choice : {}, asked: null });
    fresh();
    tell();
    return follow();
  };
  inspection.choose = (name, value) => {
    if (name === "word") Object.assign(inspection, { word: value, choice: {} });
    else inspection.choice = { ...inspection.choice, [name]: value };
    inspection.asked = null;
    return follow();
  };
  inspection.everywhereIs = (wanted) => {
    Object.assign(inspection, { everywhere: wanted, answer: null, compared: null });
    tell();
    return follow();
  };
  /** Takes a row that was turned at a place, or null for the network's own; the answer follows. */
  inspection.turn = (row, place) => {
    const moved = row ? [...new Set([...inspection.moved, place])] : [];
    Object.assign(inspection, { turned: row, moved, answer: null });
    tell();
    return follow();
  };

  /** Asks for what is missing, one after the other; resolves to whether it came to its end. */
  inspection.ask = async (desk, asked, current) => {
    const { reader } = inspection;
    if (!reader) return true;
    const done = (came) => came && current();
    if (!inspection.asked || !sameQuestion(inspection.asked, asked)) {
      if (inspection.asked && inspection.asked.text !== asked.text) inspection.word = null;
      const { word, choice } = inspection;
      const heard = ({ trace }) => current() && Object.assign(fresh(), { trace, asked });
      if (!done(await desk.trace({ ...asked, word, choice }, reader, heard))) return false;
      tell();
    }
    if (!inspection.trace) return true;
    if (inspection.turned && !inspection.answer) {
      const factors = factorsOf(inspection.turned, rowOf().weights);
      const heard = ({ probabilities }) => current() && (inspection.answer = probabilities);
      if (!done(await desk.turn({ ...asked, ...where(), factors }, reader, heard))) return false;
      tell();
    }
    if (inspection.compared) return true;
    const heard = (found) => current() && (inspection.compared = found);
    if (!done(await desk.compare({ ...asked, ...where() }, reader, heard))) return false;
    tell();
    return true;
  };
  return inspection;
}
