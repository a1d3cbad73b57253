import {
  add,
  attend,
  dot,
  givenAt,
  linear,
  mix,
  relu,
  sigmoid,
  tanh,
  weightedSum,
} from "./layers.js";

// Attention-gated transformation network (Guo 2017), as models/agt.py states it in PyTorch, with the
// numbers that it gives the equations.

const rowOf = ({ columns, data }, row) => data.subarray(row * columns, (row + 1) * columns);

/** B_n of one word, and in every selecting layer tanh(W_l B_n) and its score m_{l,n}. */
function scored(w, x) {
  const b = tanh(linear(w["projection.weight"], w["projection.bias"], x)); // (1)
  const inner = w["attention.weight"].map((weight) => tanh(linear(weight, null, b)));
  const m = inner.map((each, l) => dot(rowOf(w["attention.vector"], l), each)); // (2)
  return { x, b, inner, m };
}

const remembered = new WeakMap();

/** `scored`, kept per network and vector: whatever stands around a word, it scores the same. */
function scoredOnce(w, x) {
  if (!remembered.has(w)) remembered.set(w, new WeakMap());
  const ofWords = remembered.get(w);
  if (!ofWords.has(x)) ofWords.set(x, scored(w, x));
  return ofWords.get(x);
}

/** The highway layers above s_0: every y, and every gate. */
function gatedStack(w, s) {
  const gates = [];
  const all = [s[0]]; // (4)
  (w["stack.gate"] ?? []).forEach((weight, i) => {
    const [s_l, y] = [s[i + 1], all[i]];
    const gate = sigmoid(linear(weight, { data: rowOf(w["stack.gate_bias"], i) }, s_l ?? y)); // (5)
    const ofY = linear(w["stack.carried"][i], null, y);
    const f = s_l ? add(ofY, linear(w["stack.selected"][i], null, s_l)) : ofY; // W^f [y; s]
    all.push(mix(gate, tanh(f), y)); // (6)
    gates.push(gate);
  });
  return { y: all, gates };
}

/**
 * Logits of word vectors in any order, each selecting layer's attention, and the gates; with `each`
 * word's parts, the layers' selections `s` and states `y`. `given` attention has the form of `d`.
 */
export function agt(w, config, words, given) {
  const each = words.map((x) => scoredOnce(w, x));
  const b = each.map((word) => word.b);
  const d = w["attention.weight"].map((_, l) =>
    attend(givenAt(given, l), words.length, () => each.map(({ m }) => m[l])).alpha); // (2): d_l
  const s = d.map((weights) => weightedSum(weights, b, config.hidden)); // (3)
  const { y, gates } = gatedStack(w, s);
  const hidden = relu(linear(w["classifier.1.weight"], w["classifier.1.bias"], y.at(-1)));
  const logits = linear(w["classifier.4.weight"], w["classifier.4.bias"], hidden);
  const vectors = d.map((_, l) => rowOf(w["attention.vector"], l)); // w_l
  return { logits, d, gates, each, s, y, vectors };
}
