import {
  add,
  dot,
  even,
  linear,
  mix,
  relu,
  sigmoid,
  softmax,
  tanh,
  weightedSum,
} from "./layers.js";

// Attention-gated transformation network (Guo 2017), as models/agt.py states it in PyTorch, with the
// numbers that it gives the equations.

const rowOf = ({ columns, data }, row) => data.subarray(row * columns, (row + 1) * columns);

/** B_n of one word, and its score m_{l,n} = w_l · tanh(W_l B_n) in every selecting layer. */
function scored(w, x) {
  const b = tanh(linear(w["projection.weight"], w["projection.bias"], x)); // (1)
  const m = w["attention.weight"].map((weight, l) => {
    return dot(rowOf(w["attention.vector"], l), tanh(linear(weight, null, b))); // (2)
  });
  return { b, m };
}

const remembered = new WeakMap();

/** `scored`, kept per network and vector: whatever stands around a word, it scores the same. */
function scoredOnce(w, x) {
  if (!remembered.has(w)) remembered.set(w, new WeakMap());
  const ofWords = remembered.get(w);
  if (!ofWords.has(x)) ofWords.set(x, scored(w, x));
  return ofWords.get(x);
}

/** The highway layers above s_0: the last y, and every gate. */
function gatedStack(w, s) {
  const gates = [];
  let y = s[0]; // (4)
  (w["stack.gate"] ?? []).forEach((weight, i) => {
    const s_l = s[i + 1];
    const gate = sigmoid(linear(weight, { data: rowOf(w["stack.gate_bias"], i) }, s_l ?? y)); // (5)
    const ofY = linear(w["stack.carried"][i], null, y);
    const f = s_l ? add(ofY, linear(w["stack.selected"][i], null, s_l)) : ofY; // W^f [y; s]
    y = mix(gate, tanh(f), y); // (6)
    gates.push(gate);
  });
  return { y, gates };
}

/** Logits of word vectors in any order, each selecting layer's attention, and the gates. */
export function agt(w, config, words, uniform) {
  const each = words.map((x) => scoredOnce(w, x));
  const b = each.map((word) => word.b);
  const d = w["attention.weight"].map((_, l) => {
    return uniform ? even(words.length) : softmax(each.map(({ m }) => m[l])); // (2): d_l
  });
  const s = d.map((weights) => weightedSum(weights, b, config.hidden)); // (3)
  const { y, gates } = gatedStack(w, s);
  const hidden = relu(linear(w["classifier.1.weight"], w["classifier.1.bias"], y));
  return { logits: linear(w["classifier.4.weight"], w["classifier.4.bias"], hidden), d, gates };
}
