import { answer, documentOf } from "../course_kit/reading_room/engine/reading.js";
import { sentences } from "../course_kit/reading_room/engine/sentences.js";
import { words } from "../course_kit/reading_room/engine/tokens.js";
import { unpack } from "../course_kit/reading_room/engine/weights.js";

// What reading_room.py asks of the engine, in Node or in a page.

/** A function from a question to its answer, over the bundle that `packed` holds. */
export async function answering(packed) {
  const engine = await unpack(packed);
  const models = new Map(engine.models.map((model) => [model.id, model]));
  const options = { erased: new Set(), removal: "delete", given: null };

  function split({ text, given }) {
    return { sentences: sentences(text, engine.punkt), words: given.map(words) };
  }

  function read({ model, tokens, whole }) {
    const { logits, attention, word: all, places } = answer(models.get(model), tokens, options);
    const word = places.map((place) => all[place]);
    if (!whole) return { logits: Array.from(logits) };
    const weights = Object.entries(attention).map(([name, { weights }]) => [name, weights]);
    return { logits: Array.from(logits), word, attention: Object.fromEntries(weights) };
  }

  function readTyped({ model, text }) {
    const start = performance.now();
    const words = documentOf(models.get(model), text, engine.punkt);
    const { probabilities } = answer(models.get(model), words, options);
    return { words: words.flat(), probabilities, seconds: (performance.now() - start) / 1000 };
  }

  return (question) => {
    if ("given" in question) return split(question);
    return "text" in question ? readTyped(question) : read(question);
  };
}
