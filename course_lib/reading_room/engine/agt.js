// Attention-gated transformation network (Guo 2017), as models/agt.py states it in PyTorch, with the
// numbers that it gives the equations.

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

/** d_l of every selecting layer: softmax over the words of m_{l,n} = w_l · tanh(W_l B_n). */
function attentionStack(w, b, uniform) {
  const { columns, data } = w["attention.vector"];
  return w["attention.weight"].map((weight, l) => {
    if (uniform) return even(b.length);
    const vector = data.subarray(l * columns, (l + 1) * columns);
    return softmax(b.map((word) => dot(vector, tanh(linear(weight, null, word))))); // (2)
  });
}

const rowOf = ({ columns, data }, row) => ({
  rows: 1,
  columns,
  data: data.subarray(row * columns, (row + 1) * columns),
});

/** The highway layers above s_0: the last y, and every gate. */
function gatedStack(w, s) {
  const gates = [];
  let y = s[0]; // (4)
  (w["stack.gate"] ?? []).forEach((weight, i) => {
    const s_l = s[i + 1];
    const gate = sigmoid(linear(weight, rowOf(w["stack.gate_bias"], i), s_l ?? y)); // (5)
    const ofY = linear(w["stack.carried"][i], null, y);
    const f = s_l ? add(ofY, linear(w["stack.selected"][i], null, s_l)) : ofY; // W^f [y; s]
    y = mix(gate, tanh(f), y); // (6)
    gates.push(gate);
  });
  return { y, gates };
}

/** Logits of word vectors in any order, each selecting layer's attention, and the gates. */
export function agt(w, config, words, uniform) {
  const b = words.map((x) => tanh(linear(w["projection.weight"], w["projection.bias"], x))); // (1)
  const d = attentionStack(w, b, uniform);
  const s = d.map((weights) => weightedSum(weights, b, config.hidden)); // (3)
  const { y, gates } = gatedStack(w, s);
  const hidden = relu(linear(w["classifier.1.weight"], w["classifier.1.bias"], y));
  return { logits: linear(w["classifier.4.weight"], w["classifier.4.bias"], hidden), d, gates };
}
