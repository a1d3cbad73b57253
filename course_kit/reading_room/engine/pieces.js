// Words and their pieces as BERT splits them (WordPiece), in lower case and without accents, which is
// what the `tokenizers` library does in Python.

export const UNKNOWN = "[UNK]";
const LONGEST = 100; // characters of a word that is cut into pieces
const DROPPED = /[\0\ufffd\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu;
const IDEOGRAPH =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;
const PUNCTUATION = /[!-/:-@[-`{-~\p{P}]/gu;

/** The pieces of a word, the longest `known` first; one unknown for a word that cannot be cut. */
export function wordPieces(word, known) {
  const characters = Array.from(word);
  const found = [];
  for (let start = 0; start < characters.length; ) {
    let end = characters.length > LONGEST ? start : characters.length;
    const piece = () => (start ? "##" : "") + characters.slice(start, end).join("");
    while (end > start && !known.has(piece())) end -= 1;
    if (end === start) return [UNKNOWN];
    found.push(piece());
    start = end;
  }
  return found;
}

/** The words of a text; what no `known` pieces make up is the unknown word. */
export function bertWords(text, known) {
  const spaced = text.replace(/[\t\n\r]/g, " ").replace(DROPPED, "").replace(IDEOGRAPH, " $& ");
  const plain = spaced.normalize("NFD").replace(/\p{Mn}/gu, "");
  const lower = Array.from(plain, (character) => character.toLowerCase()).join("");
  const words = lower.replace(PUNCTUATION, " $& ").split(/\p{White_Space}+/u).filter(Boolean);
  return words.map((word) => (wordPieces(word, known)[0] === UNKNOWN ? UNKNOWN : word));
}
