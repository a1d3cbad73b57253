import {
  bidirectionalLSTM,
  dot,
  even,
  gruStep,
  highway,
  linear,
  maxout,
  partOf,
  softmax,
  timesMatrix,
  weightedSum,
} from "./layers.js";

// Iterative recursive attention model (Tutek and Šnajder 2018), as models/iram.py states it in
// PyTorch.

const CLASSIFIER = 200; // the width of the classifier's maxout layers

/** States of layer `context_layers`, and the last cell of the top one. */
function encoder(w, config, x) {
  let [states, h, cell] = [x, null, null];
  for (let layer = 1; layer <= config.context_layers + config.query_layers; layer++) {
    ({ h: states, cell } = bidirectionalLSTM(partOf(w, `layers.${layer - 1}`), states));
    if (layer === config.context_layers) h = states;
  }
  return { h, cell };
}

/** T steps over the states and the summaries of earlier steps: the last summary, and the rows of A. */
function recursiveAttention(w, config, h, q, uniform) {
  const [attend, refine] = [w["attend.weight"], partOf(w, "refine")];
  const names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"];
  const controller = names.map((name) => w[`controller.${name}`]);
  const nothing = h.length === 0; // then there is no summary to attend to, either
  const columns = h.length + config.steps - 1;
  const rows = [];
  let s;
  for (let step = 0; step < config.steps; step++) {
    const query = timesMatrix(q, attend);
    const a = uniform ? even(h.length) : softmax(h.map((state) => dot(query, state))); // (1)
    s = highway(refine, weightedSum(a, h, config.hidden)); // (2): ŝ = Σ a_i h_i; s = Highway(ŝ)
    rows.push([...a, ...new Array(columns - a.length).fill(0)]); // (4): a row of A
    if (step + 1 === config.steps) break;
    if (!nothing) h = [...h, s];
    q = gruStep(controller, s, q); // q ← GRUCell(s, q)
  }
  return { s, rows };
}

/** Logits of a sequence of word vectors, and each step's attention: the words, then summaries. */
export function iram(w, config, words, uniform) {
  const x = words.map((word) => highway(partOf(w, "highway"), word));
  const { h, cell } = encoder(partOf(w, "encoder"), config, x);
  const q = highway(partOf(w, "refine_query"), cell);
  const { s, rows } = recursiveAttention(partOf(w, "steps"), config, h, q, uniform);
  const layer = (i) => [w[`classifier.${i}.linear.weight`], w[`classifier.${i}.linear.bias`]];
  const hidden = maxout(...layer(3), maxout(...layer(1), s, CLASSIFIER), CLASSIFIER);
  return { logits: linear(w["classifier.5.weight"], w["classifier.5.bias"], hidden), steps: rows };
}
