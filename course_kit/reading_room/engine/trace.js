import { answer } from "./reading.js";
import { choosing, largestAt } from "./steps.js";
import { traceAgt } from "./trace_agt.js";
import { traceHan } from "./trace_han.js";
import { traceIram } from "./trace_iram.js";
import { traceSanet } from "./trace_sanet.js";
import { traceTransformer } from "./trace_transformer.js";

// How a network came to the weight of one word: the numbers of its own forward pass, step by step.

const TRACES = {
  han: traceHan,
  sanet: traceSanet,
  iram: traceIram,
  agt: traceAgt,
  transformer: traceTransformer,
  minilm: traceTransformer,
};

/**
 * The weight of the word at the flat place `word`, or of the heaviest if that is not read: its steps
 * (steps.js), the choices that there are (of a layer, say), and the row of weights that can be changed,
 * {path, names, chosen, weights, unit, of}, `of` saying whose they are; null where nothing is read.
 */
export function trace(model, sentences, options, { word = null, choice = {} }) {
  const found = answer(model, sentences, options);
  if (!found.places.length) return null;
  const flat = sentences.flat();
  const place = found.places.includes(word) ? word : largestAt(found.word);
  const { choices, choose } = choosing(choice);
  const names = [...found.names, ...(model.reads_pieces ? ["[CLS]", "[SEP]"] : [])];
  const own = [...found.places.keys()].filter((i) => found.places[i] === place); // its pieces
  const at = own[choose("piece", "Piece", own.map((i) => names[i]), 0)];
  const { steps, row } =
    TRACES[model.system]({ model, found, at, own, names, count: found.names.length, choose });
  const weights = row.path.reduce((part, step) => part[step], found.weights);
  return {
    word: place, words: [...new Set(found.places)].map((one) => ({ place: one, name: flat[one] })),
    weight: found.word[place], choices, steps, own: found.probabilities,
    row: { ...row, weights: Array.from(weights) },
  };
}
