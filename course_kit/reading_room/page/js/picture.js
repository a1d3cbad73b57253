import { make } from "../../../views/heatmap/js/elements.js";
import { shown } from "../../../views/heatmap/js/numbers.js";
import { FONT } from "../../../views/heatmap/js/style.js";
import { answerOf, dressReading, mostLikely } from "./dress.js";
import { shownReaders } from "./exports.js";

// The readings as one PNG, drawn on a canvas word by word.

const [WIDTH, MARGIN, LINE, SCALE] = [900, 24, 26, 2];
const MOST_LINES = 400; // a canvas has an end

/** Where each word goes: [{ token, dress, x, y, width }] from `top` on, and the first free line. */
function layWords(ink, reading, dress, top) {
  const placed = [];
  let [x, y] = [MARGIN, top];
  reading.tokens.forEach((sentence, i) => sentence.forEach((token, j) => {
    const text = shown(token, 40);
    const width = ink.measureText(text).width + 8;
    if (x + width > WIDTH - MARGIN && x > MARGIN) [x, y] = [MARGIN, y + LINE];
    placed.push({ text, dress: dress[i][j], x, y, width });
    x += width + 2;
  }));
  return [placed, y + LINE];
}

function drawWord(ink, { text, dress, x, y, width }) {
  ink.fillStyle = dress.colour || "#ffffff";
  ink.fillRect(x, y, width, LINE - 4);
  const erased = dress.marks.includes("erased");
  ink.fillStyle = erased ? "#667085" : "#1d2433";
  ink.fillText(text, x + 4, y + 16);
  if (erased) ink.fillRect(x + 2, y + 11, width - 4, 1.5);
}

function drawChances(ink, model, reading, top) {
  const best = mostLikely(reading.probabilities);
  model.classes.forEach((name, i) => {
    const y = top + i * 20;
    ink.fillStyle = "#1d2433";
    ink.fillText(shown(name, 20), MARGIN, y + 13);
    ink.fillStyle = i === best ? "#0b6e8a" : "#9aa5b5";
    ink.fillRect(MARGIN + 130, y + 3, 300 * reading.probabilities[i], 12);
    ink.fillStyle = "#1d2433";
    ink.fillText(`${(100 * reading.probabilities[i]).toFixed(0)} %`, MARGIN + 440, y + 13);
  });
  return top + model.classes.length * 20 + 8;
}

function drawReader(ink, room, [model, now, drops], top, kind) {
  ink.font = `600 17px ${FONT}`;
  ink.fillStyle = "#1d2433";
  ink.fillText(`${model.title}, ${model.dataset}: ${answerOf(model, now.reading)}`, MARGIN, top + 18);
  ink.font = `14px ${FONT}`;
  const dress = dressReading(now, drops, kind, room.told);
  const [placed, end] = layWords(ink, now.reading, dress, drawChances(ink, model, now.reading, top + 30));
  placed.forEach((word) => drawWord(ink, word));
  return end + 20;
}

/** A promise of the picture as a blob. */
export function asPicture(room) {
  const readers = shownReaders(room);
  const canvas = make("canvas");
  const ink = canvas.getContext("2d");
  const drawAll = () => readers.reduce(
    (top, reader) => drawReader(ink, room, reader, top, room.state.tint), MARGIN);
  const height = Math.min(drawAll(), MOST_LINES * LINE) + 30;
  [canvas.width, canvas.height] = [WIDTH * SCALE, height * SCALE];
  ink.scale(SCALE, SCALE);
  ink.fillStyle = "#ffffff";
  ink.fillRect(0, 0, WIDTH, height);
  drawAll();
  ink.font = `12px ${FONT}`;
  ink.fillStyle = "#5b6577";
  ink.fillText(room.state.tint === "drops"
    ? "tint: what the answer's probability loses without the word"
    : "tint: times the weight of uniform attention", MARGIN, height - 12);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
