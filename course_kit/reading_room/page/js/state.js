// What the address says of a room, and nothing else that it might try to say. Needs no page.

const LONGEST = 20_000; // characters of a text
const MOST_ERASED = 5_000;

/** What networks are asked to read: a text, the words taken out of it, by number, and how. */
export function question(text, erased = [], removal = "delete", uniform = false) {
  return { text, erased, removal, uniform };
}

export function sameQuestion(one, other) {
  return one.text === other.text && one.removal === other.removal && one.uniform === other.uniform &&
    String(one.erased) === String(other.erased);
}

/** The question with a word taken out, or put back. */
export function withWord(asked, index) {
  const gone = asked.erased.includes(index);
  const erased = gone ? asked.erased.filter((i) => i !== index) : [...asked.erased, index];
  return { ...asked, erased: erased.sort((a, b) => a - b) };
}

function writeQuestion({ text, erased, removal, uniform }) {
  const words = new URLSearchParams({ text });
  if (erased.length) words.set("out", erased.join("."));
  if (removal === "mask") words.set("by", "mask");
  if (uniform) words.set("uniform", "1");
  return words;
}

function readQuestion(words) {
  const numbers = (words.get("out") ?? "").split(".").filter((part) => /^\d{1,5}$/.test(part));
  const erased = [...new Set(numbers.slice(0, MOST_ERASED).map(Number))].sort((a, b) => a - b);
  const removal = words.get("by") === "mask" ? "mask" : "delete";
  const text = (words.get("text") ?? "").slice(0, LONGEST);
  return question(text, erased, removal, words.get("uniform") === "1");
}

/** The known readers of a list joined by dots, once each; a name may hold dots itself, as a file's does. */
function readReaders(text, known) {
  const longestFirst = [...known].sort((a, b) => b.length - a.length);
  const found = new Set();
  for (let left = text; left; ) {
    const reader = longestFirst.find((one) => `${left}.`.startsWith(`${one}.`));
    if (reader) found.add(reader);
    left = left.slice((reader ?? left.split(".")[0]).length + 1);
  }
  return [...found];
}

/** A reader's word whose weight is traced, as it stands in an address; null if nobody knows it. */
function readTraced(text, known) {
  const [, reader, word] = /^(.*?)(?:\.(\d{1,5}))?$/s.exec(text ?? "");
  return known.includes(reader) ? { reader, word: word === undefined ? null : Number(word) } : null;
}

/** The part of the address behind `#` for a state: `asked`, `tint`, `readers`, `pinned`, `traced`. */
export function writeAddress({ asked, tint, readers, pinned, traced }) {
  const words = writeQuestion(asked);
  if (tint === "drops") words.set("tint", "drops");
  words.set("readers", readers.join("."));
  if (pinned) words.set("pin", String(writeQuestion(pinned)));
  if (traced) words.set("trace", [traced.reader, traced.word].filter((part) => part !== null).join("."));
  return String(words);
}

/** The state that such a part stands for. What it leaves out, or nobody knows, is as in `usual`. */
export function readAddress(fragment, usual, known, examples) {
  const words = new URLSearchParams(fragment.replace(/^#/, ""));
  const example = examples.find(({ name }) => name === words.get("example"));
  const traced = readTraced(words.get("trace"), known);
  if (example) return { ...ofExample(example), traced };
  if (!words.has("text")) return { ...usual, traced };
  const named = readReaders(words.get("readers") ?? "", known);
  return {
    asked: readQuestion(words),
    tint: words.get("tint") === "drops" ? "drops" : "attention",
    readers: named.length ? named : usual.readers,
    pinned: words.has("pin") ? readQuestion(new URLSearchParams(words.get("pin"))) : null,
    traced,
  };
}

export function ofExample({ texts, readers }) {
  const [text, beside] = texts;
  const pinned = beside === undefined ? null : question(beside);
  return { asked: question(text), tint: "attention", readers: [...readers], pinned, traced: null };
}
