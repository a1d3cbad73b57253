import { dot } from "./layers.js";
import { UNKNOWN, wordPieces } from "./pieces.js";

// What pack.py packs, unpacked: a header that says where everything is, then numbers and words.

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** The bytes that a base64 string stands for. */
function decoded(base64) {
  const characters = atob(base64);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

/** A float16 as a number. */
export function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** A stored tensor as {rows, columns, data}; more than two dimensions become a list of matrices. */
function tensor(buffer, { shape, kind, at, scale, most }) {
  const size = shape.reduce((a, b) => a * b, 1);
  const [rows, columns] = shape.length > 1 ? shape.slice(-2) : [1, shape[0]];
  let data;
  if (kind === "float32") data = new Float32Array(buffer, at, size);
  else if (kind === "float16") data = Float32Array.from(new Uint16Array(buffer, at, size), fromHalf);
  else {
    const scales = new Float32Array(buffer, scale, size / columns);
    const planes = kind === "twelve" && new Uint8Array(buffer, at, 2 * size); // high bytes, then low
    const bytes = new Int8Array(buffer, at, size);
    data = new Float32Array(size);
    for (let i = 0; i < size; i++) {
      const whole = planes ? 256 * planes[i] + planes[size + i] - most : bytes[i];
      data[i] = whole * scales[Math.floor(i / columns)];
    }
  }
  if (shape.length < 3) return { rows, columns, data };
  return Array.from({ length: shape[0] }, (_, i) => {
    return { rows, columns, data: data.subarray(i * rows * columns, (i + 1) * rows * columns) };
  });
}

/** Words of which each says how many of its first characters it shares with the one before. */
export function unfolded(shared, endings) {
  let word = "";
  return endings.split("\n").map((ending, i) => (word = word.slice(0, shared[i]) + ending));
}

/** A token in lower case as the vocabulary's is, character by character. */
export function lowered(token) {
  return Array.from(token, (c) => String.fromCodePoint(c.toLowerCase().codePointAt(0))).join("");
}

/** Words and one vector each, still in bytes: a row becomes numbers when a text holds the word. */
function openTable(buffer, table) {
  const text = (part) => new TextDecoder().decode(new Uint8Array(buffer, part.at, part.bytes));
  const shared = new Uint8Array(buffer, table.shared.at, table.shared.bytes);
  const places = new Map(unfolded(shared, text(table.endings)).map((word, i) => [word, i]));
  const { shape, kind, at, scale } = table.vectors;
  const width = shape[1];
  const size = { float32: 4, float16: 2, int8: 1 }[kind];
  const groups = table.groups; // scales of a row
  const row = (place) =>
    tensor(buffer, {
      shape: [groups, width / groups],
      kind,
      at: at + place * width * size,
      scale: scale + 4 * place * groups,
    }).data;
  return {
    place: (token) => places.get(token) ?? (table.folded ? places.get(lowered(token)) : undefined),
    row,
    width,
  };
}

/** A vector without what all words share: centred, and without the common directions. */
function withoutCommon(x, { mean, directions }) {
  const centred = x.map((value, i) => value - mean.data[i]);
  const result = Float32Array.from(centred);
  for (let k = 0; k < directions.rows; k++) {
    const direction = directions.data.subarray(k * x.length, (k + 1) * x.length);
    const along = dot(centred, direction);
    for (let i = 0; i < x.length; i++) result[i] -= along * direction[i];
  }
  return result;
}

/** One model: its settings, its weights by name, and `embed`, which gives a token its vector. */
function openModel(buffer, tables, model) {
  const named = (tensors) =>
    Object.fromEntries(Object.entries(tensors).map(([name, one]) => [name, tensor(buffer, one)]));
  const table = tables[model.table];
  const unknown = tensor(buffer, model.unknown).data;
  const common = model.common && named(model.common);
  const seen = new Map();
  function vectorOf(place) {
    if (!seen.has(place))
      seen.set(place, common ? withoutCommon(table.row(place), common) : table.row(place));
    return seen.get(place);
  }
  const has = (token) => table.place(token) !== undefined;
  return {
    ...model,
    weights: named(model.weights),
    has,
    pieces: model.reads_pieces ? (word) => wordPieces(word, { has }) : (word) => [word],
    known: model.reads_pieces ? (word) => word !== UNKNOWN : has,
    unknown,
    embed(token) {
      const place = table.place(token);
      return place === undefined ? unknown : vectorOf(place);
    },
  };
}

/** Punkt's parameters as sentences.js takes them. */
function openPunkt(buffer, { at, bytes }) {
  const stored = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, at, bytes)));
  return {
    abbreviations: new Set(stored.abbreviations),
    collocations: new Set(stored.collocations),
    starters: new Set(stored.starters),
    context: new Map(stored.context),
  };
}

/** A bundle, as base64: the models that are in it, and how texts are split into sentences. */
export async function unpack(base64) {
  const whole = await inflate(decoded(base64));
  const length = new Uint32Array(whole, 0, 1)[0];
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 4, length)));
  const buffer = whole.slice(4 + length); // places are counted from here
  const tables = header.tables.map((table) => openTable(buffer, table));
  return {
    models: header.models.map((model) => openModel(buffer, tables, model)),
    punkt: openPunkt(buffer, header.punkt),
  };
}
