// What a trace is made of, whichever network it is of: steps, each with an equation, the values of its
// symbols, and a table. A page draws them without knowing the network.

/** A symbol of an equation, in the lesson's notation, and its value: a number, or a list of numbers. */
export function valued(symbol, name, value) {
  return typeof value === "number" ? { symbol, name, value }
    : { symbol, name, values: Array.from(value) };
}

/** A step: its name in one word and in several, what happens, by which equation of which lesson, and in
 *  which exercise one builds it. */
export function traceStep(short, title, says, { lesson = "", equation = "", exercise = "" }, symbols, table = null) {
  return { short, title, says, lesson, equation, exercise, symbols, table, aside: false };
}

/** A row of numbers for each name; those in column `bar`, shares of `whole`, are drawn as bars, row
 *  `chosen` stands out. */
export function tableOf(label, names, columns, bar, chosen = -1, unit = "words") {
  const headings = Object.keys(columns);
  const rows = names.map((name, i) => ({ name, values: headings.map((one) => columns[one][i]) }));
  return { label, columns: headings, rows, bar, chosen, unit, whole: 1 };
}

/** exp and division, which turn scores into shares. Only differences of scores count, so the largest
 *  is taken from all before exp. */
export function shareStep(title, says, names, scores, alpha, chosen, unit = "words") {
  const largest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - largest));
  const total = powers.reduce((a, b) => a + b, 0);
  const how = {
    lesson: "02_attention", exercise: "softmax",
    equation: "\\alpha_i = \\frac{\\exp(e_i)}{\\sum_j \\exp(e_j)}",
  };
  return traceStep("share", title, says, how, [
    valued("e_i", "score", scores[chosen]),
    valued("\\exp(e_i - \\max e)", "exp, after the largest score is taken from all", powers[chosen]),
    valued("\\sum_j", "sum over all of them", total),
    valued("\\alpha_i", "share", alpha[chosen]),
  ], tableOf("Share of each; all shares sum to 1", names, { score: scores, exp: powers, share: alpha }, 2, chosen, unit));
}

/** The numbers of two vectors multiplied place by place; their sum is the dot product. */
export function products(a, b, scale = 1) {
  return Array.from(a, (value, i) => scale * value * b[i]);
}

/** What one place adds to a weighted sum. */
export function addedBy(weight, vector) {
  return Array.from(vector, (value) => weight * value);
}

/** The last step of every network: logits, and the softmax over the classes. */
export function answerStep(says, how, symbols, { logits, probabilities }) {
  const table = tableOf("Probability of each class, with the network’s own weights", probabilities.map((_, i) => `class ${i + 1}`),
    { logit: Array.from(logits), probability: probabilities }, 1,
    probabilities.indexOf(Math.max(...probabilities)), "classes");
  return traceStep("answer", "The answer", says, how, symbols, table);
}

/** Choices of a trace: `choose(name, label, options, usual)` is the index of what was asked for, or the
 *  usual one; `choices` lists them for a page. */
export function choosing(asked) {
  const choices = [];
  function choose(name, label, options, usual) {
    const value = options[asked[name]] === undefined ? usual : asked[name];
    if (options.length > 1) choices.push({ name, label, options, value });
    return value;
  }
  return { choices, choose };
}

export const largestAt = (values) => values.indexOf(Math.max(...values));

/** What a word's tint is made of, parts that add up if there are several. It comes after the answer and
 *  stands `aside`, because the answer is not computed from it. */
export function tintStep(says, symbols, names = [], parts = [], unit = "words") {
  const label = "Parts that add up to the tint’s weight, which is a full bar";
  const whole = parts.reduce((all, part) => all + part, 0) || 1;
  const table = parts.length
    ? { ...tableOf(label, names, { part: parts }, 0, largestAt(parts), unit), whole } : null;
  const step = traceStep("tint", "The tint of the word", `${says} The answer does not use this number.`, {}, symbols, table);
  return { ...step, aside: true };
}
