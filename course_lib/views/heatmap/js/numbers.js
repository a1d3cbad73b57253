// Numbers and names as a reader sees them. Needs no browser.

const CHARACTERS = 60; // shown of a token, at most

export function clamp(value, low, high) {
  return Math.min(Math.max(low, value), high);
}

/** As many decimals as round by at most a hundred-thousandth of the largest weight. */
export function decimals(peak) {
  return peak > 0 ? clamp(Math.ceil(4.7 - Math.log10(peak)), 0, 12) : 1;
}

/** What stands below a colour scale from 0 to `peak`, at its quarters. */
export function tickTexts(peak, sqrt) {
  const value = (share) => Number((peak * (sqrt ? share * share : share)).toPrecision(3));
  return [0, 0.25, 0.5, 0.75, 1].map((share) => String(value(share)));
}

/** How often a word's weight holds that of uniform attention over so many words. */
export function timesUniform(weight, count) {
  return weight * count;
}

export function wordFact(weight, count) {
  return `weight ${Number(weight.toPrecision(5))}, ${timesUniform(weight, count).toFixed(2)}× uniform`;
}

/** A token as one line that can be seen: no line breaks, nothing endless, never nothing. */
export function shown(token, limit = CHARACTERS) {
  if (token === "") return "(empty)";
  if (/^\s+$/.test(token)) return "(space)";
  const characters = Array.from(token.slice(0, 2 * limit + 2).replace(/\s/g, " "));
  const whole = characters.length <= limit && token.length <= 2 * limit + 2;
  return whole ? characters.join("") : characters.slice(0, limit - 1).join("") + "…";
}
