// Words as NLTK's Treebank tokeniser (NLTKWordTokenizer) splits them, and what its regular
// expressions take for white space, words and digits: Python's classes, which JavaScript's are not.

export const SPACE = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
export const PYTHON_SPACE = `${SPACE}\\x1c-\\x1f`; // of str.split and the module re
export const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\u200c\\u200d"; // \w of the module regex
const PYTHON_WORD = "\\p{L}\\p{N}_"; // \w of the module re
const LINE_BREAK = /<br[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*\/?>/gu;
const SPACES = new RegExp(`[${PYTHON_SPACE}]+`, "gu");

/** Pairs of a regular expression and what replaces each of its matches, in order. */
const rules = (...pairs) =>
  pairs.map(([pattern, by, flags = "gu"]) => [new RegExp(pattern, flags), by]);
const contraction = (first, second, before, after) => [
  `${before}(${first})(${second})${after}`,
  " $1 $2 ",
  "giu",
];
const START = `(?<![${PYTHON_WORD}])`;
const END = `(?![${PYTHON_WORD}])`;

const BEFORE_PADDING = rules(
  // opening quotes
  ["([«“‘„]|`+)", " $1 "],
  ['^"', "``"],
  ["(``)", " $1 "],
  ["([ ([{<])(\"|'{2})", "$1 `` "],
  [`(?<![${WORD}])'(?!(?:re|ve|ll|m|t|s|d|n)(?![${WORD}]))(?=[${WORD}])`, "' ", "giu"],
  // punctuation
  [`([^.])(\\.)([\\])}>"'»”’ ]*)[${SPACE}]*$`, "$1 $2 $3 "],
  ["([:,])([^\\p{Nd}])", " $1 $2"],
  ["([:,])(?=\\n?$)", " $1 "],
  ["\\.{2,}", " $& "],
  ["[;@#$%&]", " $& "],
  ["[\\u2012-\\u2015]", " $& "],
  [`([^.])(\\.)([\\])}>"']*)[${SPACE}]*$`, "$1 $2$3 "],
  ["[?!]", " $& "],
  ["([^'])' ", "$1 ' "],
  ["\\*", " $& "],
  ["[\\][(){}<>]", " $& "],
  ["--", " -- "],
);
const AFTER_PADDING = rules(
  // closing quotes
  ["([»”’])", " $1 "],
  ["''", " '' "],
  ['"', " '' "],
  [`[${SPACE}]+`, " "],
  ["([^' ])('[sS]|'[mM]|'[dD]|') ", "$1 $2 "],
  ["([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", "$1 $2 "],
  // contractions; Python's I in any case is also ı and İ
  contraction("can", "not", START, END),
  contraction("d", "'ye", START, END),
  contraction("g[iıİ]m", "me", START, END),
  contraction("gon", "na", START, END),
  contraction("got", "ta", START, END),
  contraction("lem", "me", START, END),
  contraction("more", "'n", START, END),
  contraction("wan", "na", START, `(?=[${PYTHON_SPACE}])`),
  contraction("'t", "[iıİ]s", " ", END),
  contraction("'t", "was", " ", END),
);

const applied = (text, pairs) =>
  pairs.reduce((changed, [pattern, by]) => changed.replace(pattern, by), text);

/** What stands between runs of white space. */
export function split(text) {
  return text.split(SPACES).filter(Boolean);
}

/** The text with `<br />` removed and every run of white space as one space. */
export function clean(text) {
  return split(text.replace(LINE_BREAK, " ")).join(" ");
}

// What people type and paste, as the tokenisers know it: as course_lib/data/text.py has it.
const REFERENCE = /&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gu;
const NAMED = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };
const LIGATURES = ["ff", "fi", "fl", "ffi", "ffl", "st", "st"];
const ODD_SPACE = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/gu;
const BREAK = /(?<=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\u200b+(?=[\u0e00-\u17ff])/gu;
const INVISIBLE =
  /[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/gu;
const LOOSE_JOINER = new RegExp(
  `(?<![^${SPACE}])[\\u200c\\u200d]+|[\\u200c\\u200d]+(?![^${SPACE}])`,
  "gu",
);
const APOSTROPHE = /(?<=[\p{L}\p{M}])[\u2018\u2019\u02bc\u00b4`\u2032\uff07](?=\p{L})/gu;

/** The character that a reference names; the reference itself where it names none. */
function referred(reference, decimal, hexadecimal, name) {
  if (name) return NAMED[name];
  const code = decimal ? Number(decimal) : parseInt(hexadecimal, 16);
  const stands = (code >= 32 && code < 127) || (code >= 160 && code < 0xd800) ||
    (code > 0xdfff && code <= 0x10ffff);
  return stands ? String.fromCodePoint(code) : reference;
}

/** The text as a tokeniser takes it, of what people type and paste. */
export function normalised(text) {
  const composed = text.replace(REFERENCE, referred).normalize("NFC")
    .replace(/[\ufb00-\ufb06]/gu, (found) => LIGATURES[found.charCodeAt(0) - 0xfb00]);
  const seen = composed.replace(ODD_SPACE, " ").replace(BREAK, " ").replace(INVISIBLE, "");
  return clean(seen.replace(LOOSE_JOINER, "").replace(APOSTROPHE, "'"));
}

/** The tokens of one sentence. */
export function words(sentence) {
  return split(applied(` ${applied(sentence, BEFORE_PADDING)} `, AFTER_PADDING));
}
