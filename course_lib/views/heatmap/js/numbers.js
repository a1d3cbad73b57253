// Numbers and names as a reader sees them. Needs no browser.

const CHARACTERS = 60; // shown of a token, at most

export function clamp(value, low, high) {
  return Math.min(Math.max(low, value), high);
}

/** As many decimals as round by at most a hundred-thousandth of the largest weight. */
export function decimals(peak) {
  return peak > 0 ? clamp(Math.ceil(4.7 - Math.log10(peak)), 0, 12) : 1;
}

/** The largest 1, 2 or 5 times a power of ten that is at most `value`, as [digit, exponent]. */
function roundBelow(value) {
  const power = Math.floor(Math.log10(value) + 1e-9);
  return [[5, 2, 1].find((digit) => digit <= value * 10 ** -power + 1e-9) ?? 1, power];
}

/** Round numbers below a colour scale from 0 to `most`: [text, share of the strip's length]. */
export function roundTicks(most, sqrt) {
  if (!(most > 0)) return [["0", 0]];
  const [digit, power] = roundBelow(most / (sqrt ? 1 : 2.5));
  const count = Math.floor(most / Number(`${digit}e${power}`) + 1e-9);
  const values = sqrt
    ? [1 / 16, 1 / 4, 9 / 16, 1].map((part) => Number(roundBelow(most * part).join("e")))
    : Array.from({ length: count }, (_, i) => Number(`${digit * (i + 1)}e${power}`));
  const place = (value) => (sqrt ? Math.sqrt(value / most) : value / most);
  const apart = (value, i) => place(value) - (i ? place(values[i - 1]) : 0) > 0.12;
  return [0, ...values.filter(apart)].map((value) => [String(value), place(value)]);
}

/** How often a word's weight holds that of uniform attention over so many words. */
export function timesUniform(weight, count) {
  return weight * count;
}

export function wordFact(weight, count, quantity = "weight") {
  return `${quantity} ${Number(weight.toPrecision(3))}, ${timesUniform(weight, count).toFixed(2)}× uniform`;
}

/** A token as one line that can be seen: no line breaks, nothing endless, never nothing. */
export function shown(token, limit = CHARACTERS) {
  if (token === "") return "(empty)";
  if (/^\s+$/.test(token)) return "(space)";
  const characters = Array.from(token.slice(0, 2 * limit + 2).replace(/\s/g, " "));
  const whole = characters.length <= limit && token.length <= 2 * limit + 2;
  return whole ? characters.join("") : characters.slice(0, limit - 1).join("") + "…";
}
