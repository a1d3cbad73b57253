import { PYTHON_SPACE, SPACE, WORD, split, words } from "./tokens.js";

// Sentences as NLTK's Punkt splits them (Kiss and Strunk 2006), given its parameters: the known
// abbreviations, collocations, frequent beginnings of sentences, and in which letters, and where in
// a sentence, each word was seen.

const MIDDLE_UPPER = 1 << 2;
const UPPER = (1 << 1) + MIDDLE_UPPER + (1 << 3); // anywhere in upper case
const START_LOWER = 1 << 4;
const LOWER = START_LOWER + (1 << 5) + (1 << 6);

const NO_WORD = "[)\";}\\]*:@'({[‘’“”«»?!]";
const LONG = `(?:-{2,}|\\.{2,}|(?:\\.[${SPACE}]){2,}\\.)`;
const GAP = `[${SPACE}]`;
const VISIBLE = `[^${SPACE}]`;
const END_OF_WORD = `${GAP}|$|${NO_WORD}|${LONG}`;
const TOKEN = new RegExp(
  `${LONG}|(?=[^("\`{[:;&#*@)}\\]\\-,])${VISIBLE}+?(?=${END_OF_WORD}|,(?=${END_OF_WORD}))|${VISIBLE}`,
  "gu",
);
const POSSIBLE_END = new RegExp(`[.?!](?=(${NO_WORD}|${GAP}+(${VISIBLE}+)))`, "gu");
const CLOSING = new RegExp(`^["')\\]}‘’“”«»]+?(?:${GAP}+|(?=--)|$)`, "u");
const TRAILING = new RegExp(`[${PYTHON_SPACE}]+$`, "u");
const LETTER = `(?:(?!\\p{Nd})[${WORD}])`;
const INITIAL = new RegExp(`^${LETTER}\\.$`, "u");
const NUMBER = /^-?[.,]?\p{Nd}[\p{Nd},.-]*\.?$/u;
const IN_UPPER = /^\p{Uppercase}/u;
const IN_LOWER = /^\p{Lowercase}/u;

const trimmed = (text) => text.replace(TRAILING, "");
const withoutPeriod = (type) => (type.length > 1 && type.endsWith(".") ? type.slice(0, -1) : type);

/** A word as Punkt sees it, judged by itself: does it end a sentence, is it an abbreviation? */
function judged(text, parameters) {
  const lower = text.toLowerCase();
  const token = { text, type: NUMBER.test(lower) ? "##number##" : lower, ends: false };
  if ([".", "?", "!"].includes(text)) return { ...token, ends: true };
  if (/^\.{2,}$/.test(text)) return { ...token, doubtful: true };
  if (!text.endsWith(".") || text.endsWith("..")) return token;
  const stem = text.slice(0, -1).toLowerCase();
  const known = parameters.abbreviations;
  if (known.has(stem) || known.has(stem.split("-").at(-1))) return { ...token, doubtful: true };
  return { ...token, ends: true };
}

const typeOf = (token) => (token.ends ? withoutPeriod(token.type) : token.type);

/** Whether the letters of a word say that it begins a sentence: true, false, or null. */
function begins(token, parameters) {
  if (/^[;:,.!?]$/.test(token.text)) return false;
  const seen = parameters.context.get(typeOf(token)) ?? 0;
  if (IN_UPPER.test(token.text) && seen & LOWER && !(seen & MIDDLE_UPPER)) return true;
  if (IN_LOWER.test(token.text) && (seen & UPPER || !(seen & START_LOWER))) return false;
  return null;
}

/** Whether a sentence ends with `token`, in the light of the one behind it. */
function endsBefore(token, next, parameters) {
  if (!token.text.endsWith(".")) return token.ends;
  const [type, nextType] = [withoutPeriod(token.type), typeOf(next)];
  const initial = INITIAL.test(token.text);
  if (parameters.collocations.has(`${type} ${nextType}`)) return false;
  const upper = IN_UPPER.test(next.text);
  if (token.doubtful && !initial) {
    if (begins(next, parameters) === true) return true;
    if (upper && parameters.starters.has(nextType)) return true;
  }
  if (initial || type === "##number##") {
    const start = begins(next, parameters);
    if (start === false) return false;
    const seen = parameters.context.get(nextType) ?? 0;
    if (start === null && initial && upper && !(seen & LOWER)) return false;
  }
  return token.ends;
}

/** Whether a sentence ends within a short piece of text, before its last word. */
function holdsEnd(piece, parameters) {
  const lines = piece.split("\n").filter((line) => split(line).length);
  const tokens = lines.flatMap((line) => line.match(TOKEN) ?? []).map((t) => judged(t, parameters));
  return tokens.slice(0, -1).some((token, i) => endsBefore(token, tokens[i + 1], parameters));
}

/** Where the word before a possible end begins, as NLTK finds it from the last such word on. */
function startOfWord(text, from, end) {
  for (let i = end - 1; i > from; i--) if (" \t\n\r\v\f".includes(text[i])) return i + 1;
  return null;
}

/** Places where a sentence may end, each with the words around it. */
function possibleEnds(text) {
  const found = [];
  let last = { start: 0, stop: 0 };
  for (const match of text.matchAll(POSSIBLE_END)) {
    const start = startOfWord(text, last.stop, match.index) ?? last.start;
    if (found.length && last.stop > start) found.pop(); // the same word goes on
    last = { start, stop: match.index };
    const piece = text.slice(start, match.index) + match[0] + match[1];
    const end = match.index + 1;
    found.push({ end, piece, next: match[2] ? end + match[1].length - match[2].length : end });
  }
  return found;
}

/** [start, stop] of each sentence, closing quotes and brackets still at the next one's beginning. */
function spans(text, parameters) {
  const found = [];
  let start = 0;
  for (const { end, piece, next } of possibleEnds(text)) {
    if (!holdsEnd(piece, parameters)) continue;
    found.push([start, end]);
    start = next;
  }
  return [...found, [start, trimmed(text).length]];
}

/** The sentences of a text. */
export function sentences(text, parameters) {
  const found = [];
  let moved = 0;
  const all = spans(text, parameters);
  all.forEach(([from, stop], i) => {
    const start = from + moved;
    const following = all[i + 1];
    const closing = following && text.slice(...following).match(CLOSING);
    moved = closing ? closing[0].length : 0;
    const end = closing ? following[0] + trimmed(closing[0]).length : stop;
    if (closing || start < end) found.push(text.slice(start, end));
  });
  return found;
}

/** The tokens of each sentence of a text; a sentence without any is dropped. */
export function tokenise(text, parameters) {
  return sentences(text, parameters).map(words).filter((sentence) => sentence.length);
}
