import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

const axes = await load("axes");
const { bandBorders, bringIntoView, fitCells, fontFor, framed, indexAt, largestZoom, makeAxis } = axes;
const { labelRoom, middleOf, moveAxis, pixelOf, runs, spaced, visible, zoomAxis } = axes;

const names = (count) => Array.from({ length: count }, (_, i) => `w${i}`);

/** Two axes laid out on a page; `apart` of the columns are summaries. */
function laidOut(rows, columns, { apart = 0, width = 600, dots = 1 } = {}) {
  const [down, across] = [makeAxis(names(rows), 0), makeAxis(names(columns), apart)];
  fitCells(down, across, width, dots);
  return { down, across };
}

test("a square matrix has square cells, a table flat ones, and both fit the page", () => {
  const square = laidOut(12, 12);
  assert.equal(square.down.cell, square.across.cell);
  const table = laidOut(3, 10);
  assert.deepEqual([table.down.cell, table.across.cell], [26, 34]);
  for (const [rows, columns] of [[5, 5], [80, 80], [1000, 1000], [4, 900], [900, 4]]) {
    const { down, across } = laidOut(rows, columns, { apart: 2 });
    assert.ok(across.length <= 600 && down.length <= axes.PLOT, `${rows} × ${columns}`);
  }
});

test("labels of rows take what cells leave, and never more than leaves cells their room", () => {
  const room = (rows, columns, width) =>
    labelRoom(makeAxis(names(rows), 0), makeAxis(names(columns), 0), width);
  assert.equal(room(3, 6, 800), 260); // six cells need 204
  assert.equal(room(3, 17, 800), 800 - 17 * 34 - 16);
  assert.equal(room(3, 60, 800), 150);
  assert.equal(room(3, 60, 380), 380 * 0.3);
});

test("cells of three pixels and more end on the screen's pixels", () => {
  const { across } = laidOut(4, 41, { dots: 1.5 });
  assert.ok(across.cell >= 3 && Number.isInteger(across.cell * 1.5));
  assert.ok(600 - across.length < 41 / 1.5);
  assert.equal(laidOut(4, 900).across.cell, 600 / 900);
});

test("every pixel of a cell leads back to its place, whatever the zoom and the summaries", () => {
  for (const apart of [0, 3])
    for (const zoom of [1, 1.7, 4]) {
      const { across } = laidOut(4, 20, { apart });
      zoomAxis(across, zoom, 200);
      for (let place = 0; place < 20; place++)
        for (const part of [0.02, 0.5, 0.98]) {
          const pixel = pixelOf(across, place) + part * across.cell;
          const inside = pixel >= 0 && pixel < across.length;
          assert.equal(indexAt(across, pixel), inside ? place : null, `${place} at zoom ${zoom}`);
        }
    }
});

test("there is no place in the gap, before the first and beyond the last", () => {
  const { across } = laidOut(4, 10, { apart: 2 });
  const edge = pixelOf(across, 7) + across.cell;
  assert.equal(pixelOf(across, 8) - edge, across.gap);
  assert.ok(across.gap > 0);
  assert.equal(indexAt(across, edge + across.gap / 2), null);
  assert.equal(indexAt(across, -1), null);
  assert.equal(indexAt(across, across.length), null);
  assert.equal(indexAt(across, across.length - 1), 9);
});

test("what lies under the pointer stays there while zooming in, on words and on summaries", () => {
  for (const apart of [0, 4])
    for (let place = 0; place < 20; place++) {
      const { across } = laidOut(4, 20, { apart });
      const middle = middleOf(across, place);
      for (const zoom of [1.25, 2, 6]) {
        zoomAxis(across, zoom, middle);
        const moved = middleOf(across, place) - middle;
        assert.ok(Math.abs(moved) < 1e-9, `place ${place} at zoom ${zoom} moved by ${moved}`);
      }
    }
});

test("the ends hold: nothing is shown before the first place or beyond the last", () => {
  const { across } = laidOut(4, 20, { apart: 2 });
  zoomAxis(across, 3, 100);
  moveAxis(across, -5);
  assert.equal(across.first, 0);
  moveAxis(across, 99);
  assert.ok(Math.abs(pixelOf(across, 19) + across.cell - across.length) < 1e-9);
  zoomAxis(across, 1, 500);
  assert.equal(across.first, 0);
});

test("a place that is brought into view lies in it whole", () => {
  const { across } = laidOut(4, 40, { apart: 3 });
  zoomAxis(across, 5, 300);
  for (const place of [0, 39, 20, 36, 37, 5]) {
    bringIntoView(across, place);
    const from = pixelOf(across, place);
    assert.ok(from >= -1e-9 && from + across.cell <= across.length + 1e-9, `${place}: ${from}`);
    const before = across.first;
    bringIntoView(across, place);
    assert.ok(Math.abs(across.first - before) < 1e-9, "twice changes nothing");
  }
});

test("visible places and runs are those with a pixel in the picture", () => {
  const { across } = laidOut(4, 30, { apart: 4 });
  assert.deepEqual(visible(across), [0, 30]);
  assert.deepEqual(runs(across), [[0, 26], [26, 30]]);
  zoomAxis(across, 4, 0);
  assert.deepEqual(runs(across), [visible(across)]);
  for (let place = 0; place < 30; place++) {
    const begins = pixelOf(across, place);
    const shows = begins < across.length && begins + across.cell > 0;
    assert.equal(place >= visible(across)[0] && place < visible(across)[1], shows, `${place}`);
  }
});

test("frames go around the words and, beyond the gap, around the summaries", () => {
  const { down, across } = laidOut(4, 10, { apart: 2 });
  assert.deepEqual(framed(down), [[0, down.length]]);
  const [wordsEnd, summaries] = [8 * across.cell, pixelOf(across, 8)];
  assert.deepEqual(framed(across), [[0, wordsEnd], [summaries, across.length]]);
  zoomAxis(across, 4, 0);
  assert.deepEqual(framed(across), [[0, across.length]]);
});

test("labels never overlap, are left out evenly, and all stand where there is room", () => {
  for (const count of [5, 40, 80, 200, 1000]) {
    const { down } = laidOut(count, count);
    const { font, places } = spaced(down);
    const gaps = places.slice(1).map((label, i) => label.map((value, part) => value - places[i][part]));
    assert.ok(font >= 9 && font <= 12);
    for (const [step, pixels] of gaps) {
      assert.equal(step, gaps[0][0]);
      const room = down.cell < 9 ? font + 2 : font; // small cells need air between labels
      assert.ok(pixels >= room - 1e-3, `${count}: ${pixels} for ${font}`);
    }
    if (down.cell >= 12) assert.equal(places.length, count);
  }
});

test("letters grow with the cells, within what can be read", () => {
  assert.deepEqual([1, 10, 11, 12, 13, 40].map(fontFor), [9, 9, 10, 11, 12, 12]);
});

test("zoom ends at cells of 32 pixels, and never before four times", () => {
  assert.equal(largestZoom({ base: 2 }, { base: 8 }), 16);
  assert.equal(largestZoom({ base: 26 }, { base: 34 }), 4);
});

test("the borders of a band lie between the cells inside and those outside", () => {
  for (const band of [0, 1, 3]) {
    const [right, left] = bandBorders(band, 2, 6);
    assert.equal(right.length, 8);
    for (let row = 2; row < 6; row++) {
      const ends = (border) => border.slice(2 * (row - 2), 2 * (row - 2) + 2);
      const inside = names(10).map((_, column) => column).filter((c) => Math.abs(row - c) <= band);
      if (row - band >= 0)
        assert.deepEqual(ends(left), [[row, inside[0]], [row + 1, inside[0]]]);
      assert.deepEqual(ends(right), [[row, inside.at(-1) + 1], [row + 1, inside.at(-1) + 1]]);
    }
  }
});
