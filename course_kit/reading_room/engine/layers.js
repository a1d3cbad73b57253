// The parts that every network here is built from, for one document at a time: nothing is padded,
// so nothing is masked. A vector is a Float32Array, a sequence an array of vectors, a matrix
// {rows, columns, data}. Sums are taken in double precision.

export function vector(size) {
  return new Float32Array(size);
}

/** Σ_j matrix[row][j] x_j */
function rowTimes({ data, columns }, row, x) {
  const start = row * columns;
  const whole = x.length - (x.length % 4);
  let [a, b, c, d] = [0, 0, 0, 0]; // four sums at once: one would wait for itself
  for (let j = 0; j < whole; j += 4) {
    a += data[start + j] * x[j];
    b += data[start + j + 1] * x[j + 1];
    c += data[start + j + 2] * x[j + 2];
    d += data[start + j + 3] * x[j + 3];
  }
  for (let j = whole; j < x.length; j++) a += data[start + j] * x[j];
  return a + b + (c + d);
}

/** W x + b; without a bias W x. */
export function linear(weight, bias, x) {
  const y = vector(weight.rows);
  for (let i = 0; i < y.length; i++) y[i] = rowTimes(weight, i, x) + (bias ? bias.data[i] : 0);
  return y;
}

/** W x + b of every vector of a sequence: four vectors at once, and two rows of W for all of them. */
export function linearEach({ rows, columns, data }, bias, sequence) {
  const found = sequence.map(() => vector(rows));
  const four = new Float64Array(4 * columns); // dimension by dimension
  for (let n = 0; n < sequence.length; n += 4) {
    const together = sequence.slice(n, n + 4);
    together.forEach((x, k) => x.forEach((value, j) => (four[4 * j + k] = value)));
    for (let i = 0; i < rows; i += 2) {
      const sums = eightSums(data, i * columns, Math.min(i + 1, rows - 1) * columns, four);
      for (let k = 0; k < together.length; k++) {
        found[n + k][i] = sums[k] + bias.data[i];
        found[n + k][i + 1] = sums[k + 4] + bias.data[i + 1]; // behind the last row: not kept
      }
    }
  }
  return found;
}

const eight = new Float64Array(8);

/** Two rows of a matrix, from `one` and from `other` on, times four vectors. */
function eightSums(data, one, other, four) {
  let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
  for (let j = 0; j < four.length; j += 4, one++, other++) {
    const v = data[one], w = data[other]; // taken apart by [v, w] = … it takes five times as long
    const p = four[j], q = four[j + 1], r = four[j + 2], s = four[j + 3];
    a += v * p;
    b += v * q;
    c += v * r;
    d += v * s;
    e += w * p;
    f += w * q;
    g += w * r;
    h += w * s;
  }
  eight.set([a, b, c, d, e, f, g, h]);
  return eight;
}

/** x W, the product from the other side. */
export function timesMatrix(x, weight) {
  const y = new Float64Array(weight.columns);
  for (let i = 0; i < weight.rows; i++)
    for (let j = 0; j < y.length; j++) y[j] += x[i] * weight.data[i * weight.columns + j];
  return Float32Array.from(y);
}

export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

export const add = (a, b) => a.map((value, i) => value + b[i]);
export const tanh = (x) => x.map(Math.tanh);
export const relu = (x) => x.map((value) => Math.max(0, value));
export const sigmoid = (x) => x.map((value) => 1 / (1 + Math.exp(-value)));


/** x Φ(x), with the error function by Abramowitz and Stegun, 7.1.26, whose error is below 2e-7. */
export const gelu = (x) => x.map((value) => {
  const t = 1 / (1 + 0.3275911 * Math.abs(value) * Math.SQRT1_2);
  const sum = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const tail = 0.5 * sum * Math.exp((-value * value) / 2); // 1 − Φ(|x|)
  return value * (value < 0 ? tail : 1 - tail);
});

/** [a; b] */
export function concat(a, b) {
  const both = vector(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/** The same sequence from its end. */
export const reversed = (sequence) => [...sequence].reverse();

/** g ∘ a + (1 − g) ∘ b */
export function mix(g, a, b) {
  return a.map((value, i) => g[i] * value + (1 - g[i]) * b[i]);
}

/** Σ_i α_i h_i; with nothing to weigh the zero vector of `width`. */
export function weightedSum(alpha, h, width) {
  const sum = new Float64Array(width);
  h.forEach((row, i) => {
    for (let j = 0; j < width; j++) sum[j] += alpha[i] * row[j];
  });
  return Float32Array.from(sum);
}

/** exp(s_i) / Σ_j exp(s_j); of nothing it is nothing. */
export function softmax(scores) {
  const top = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = Array.from(scores, (score) => Math.exp(score - top));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / total);
}

/** The same weight for each of `count` things. */
export function even(count) {
  return new Array(count).fill(1 / count);
}

/**
 * The weights of `count` things, and the scores they come from: `given` ones (true: equal ones), which
 * have no scores, or else the softmax of `scores()`.
 */
export function attend(given, count, scores) {
  if (given) return { alpha: given === true ? even(count) : given, scores: null };
  const found = scores();
  return { alpha: softmax(found), scores: found };
}

/** The part of given attention at a path of names and indices; true and null stand for every part. */
export function givenAt(given, ...path) {
  return given && given !== true ? path.reduce((part, step) => part[step], given) : given;
}

/** (x − mean) / √(variance + ε) · weight + bias */
export function layerNorm(weight, bias, x, epsilon = 1e-5) {
  const mean = x.reduce((a, b) => a + b, 0) / x.length;
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
  const deviation = Math.sqrt(variance + epsilon);
  return x.map((value, i) => ((value - mean) / deviation) * weight.data[i] + bias.data[i]);
}

/** y = g ∘ x + (1 − g) ∘ max(0, W_f x + b_f) with g = σ(W_g x + b_g), layer after layer: the last y,
 *  and its g and f. */
export function highwayParts(w, x) {
  let found = { y: x };
  for (let layer = 0; w[`gates.${layer}.weight`]; layer++) {
    const below = found.y;
    const g = sigmoid(linear(w[`gates.${layer}.weight`], w[`gates.${layer}.bias`], below));
    const f = relu(linear(w[`transforms.${layer}.weight`], w[`transforms.${layer}.bias`], below));
    found = { y: mix(g, below, f), g, f };
  }
  return found;
}

export const highway = (w, x) => highwayParts(w, x).y;

/** Each output is the largest of several linear maps of the input. */
export function maxout(weight, bias, x, outputs) {
  const all = linear(weight, bias, x);
  const largest = all.slice(0, outputs);
  for (let i = outputs; i < all.length; i++)
    largest[i % outputs] = Math.max(largest[i % outputs], all[i]);
  return largest;
}

/** The next state of a GRU as PyTorch computes it: gates r, z, n; z = 1 keeps the old state. */
export function gruStep(weights, x, h) {
  const [inputs, states, inputBias, stateBias] = weights;
  const size = h.length;
  const ux = linear(inputs, inputBias, x);
  const wh = linear(states, stateBias, h);
  return h.map((old, i) => {
    const r = 1 / (1 + Math.exp(-(ux[i] + wh[i])));
    const z = 1 / (1 + Math.exp(-(ux[size + i] + wh[size + i])));
    const n = Math.tanh(ux[2 * size + i] + r * wh[2 * size + i]);
    return (1 - z) * n + z * old;
  });
}

/** The next state and cell of an LSTM: gates i, f, g, o. */
export function lstmStep(weights, x, [h, c]) {
  const [inputs, states] = weights;
  const size = h.length;
  const gates = add(linear(inputs, null, x), linear(states, null, h));
  const [i, f, o] = [0, 1, 3].map((gate) => sigmoid(gates.slice(gate * size, (gate + 1) * size)));
  const g = tanh(gates.slice(2 * size, 3 * size));
  const cell = c.map((old, k) => f[k] * old + i[k] * g[k]);
  return [cell.map((value, k) => o[k] * Math.tanh(value)), cell];
}

/** Every state of `step` along a sequence, from `state` on. */
export function scan(step, sequence, state) {
  return sequence.map((x) => (state = step(x, state)));
}

/** [→h_i; ←h_i] of a bidirectional GRU. */
export function bidirectionalGRU(w, x) {
  const direction = (suffix) =>
    ["weight_ih", "weight_hh", "bias_ih", "bias_hh"].map((name) => w[`gru.${name}_l0${suffix}`]);
  const [right, left] = [direction(""), direction("_reverse")];
  const start = vector(right[1].columns);
  const forwards = scan((word, h) => gruStep(right, word, h), x, start);
  const backwards = scan((word, h) => gruStep(left, word, h), reversed(x), start);
  const inOrder = reversed(backwards);
  return forwards.map((h, i) => concat(h, inOrder[i]));
}

/** States [→h_i; ←h_i] of a bidirectional LSTM, and its last cells; each input ends with a 1, whose
 * weights are the biases. */
export function bidirectionalLSTM(w, x) {
  const direction = (name) => [w[`${name}.weight_ih_l0`], w[`${name}.weight_hh_l0`]];
  const [right, left] = [direction("forwards"), direction("backwards")];
  const start = [vector(right[1].columns), vector(right[1].columns)];
  const inputs = x.map((word) => concat(word, [1]));
  const forwards = scan((word, state) => lstmStep(right, word, state), inputs, start);
  const backwards = scan((word, state) => lstmStep(left, word, state), reversed(inputs), start);
  const [lastRight, lastLeft] = [forwards.at(-1) ?? start, backwards.at(-1) ?? start];
  const back = reversed(backwards);
  return {
    h: forwards.map(([h], i) => concat(h, back[i][0])),
    state: concat(lastRight[0], lastLeft[0]),
    cell: concat(lastRight[1], lastLeft[1]),
  };
}

/** Sinusoidal positions: sines in the even places, cosines of the same angle in the odd ones. */
export function position(place, width) {
  return Float32Array.from({ length: width }, (_, i) => {
    const angle = place / 10000 ** ((i - (i % 2)) / width);
    return i % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

/** The weights of one part of a network, without the part's name before theirs. */
export function partOf(w, name) {
  const own = Object.entries(w).filter(([key]) => key.startsWith(`${name}.`));
  return Object.fromEntries(own.map(([key, value]) => [key.slice(name.length + 1), value]));
}
