import { bringIntoView, indexAt, middleOf, moveAxis } from "./axes.js";
import { cellOf, moveByKey, placesOf, validCell } from "./cells.js";
import { change, pin } from "./elements.js";
import { moveCursor, redraw, zoomBy } from "./cursor.js";

function pointerPlace(view, event) {
  const box = view.overlay.getBoundingClientRect();
  return [event.clientX - box.left - view.left, event.clientY - box.top - view.top];
}

function cellUnder(view, event) {
  const [x, y] = pointerPlace(view, event);
  const places = [indexAt(view.down, y), indexAt(view.across, x)];
  return places.includes(null) ? null : cellOf(view, ...places);
}

export function listenToPointer(view) {
  const { plot } = view;
  let drag = null;
  let moved = -Infinity; // when the reader last moved the pointer, not the page under it
  plot.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, far: false };
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    if (event.movementX || event.movementY) moved = event.timeStamp;
    if (drag) dragTo(view, drag, event);
    if (!drag?.far) moveCursor(view, cellUnder(view, event));
  });
  plot.addEventListener("pointerup", (event) => {
    const cell = cellUnder(view, event);
    if (drag && !drag.far && cell) pin(view.model, cell);
    drag = null;
  });
  plot.addEventListener("pointercancel", () => (drag = null));
  plot.addEventListener("pointerleave", () => moveCursor(view, null));
  plot.addEventListener("wheel", (event) => {
    // A page that scrolls past under a resting pointer goes on scrolling.
    const meant = event.ctrlKey || hasFocus(plot) || event.timeStamp - moved < 1500;
    const useful = event.deltaY < 0 ? view.zoom < view.largestZoom : view.zoom > 1;
    if (!meant || !useful) return;
    event.preventDefault();
    moved = event.timeStamp;
    zoomBy(view, Math.exp(-Math.sign(event.deltaY) * 0.2), ...pointerPlace(view, event));
  }, { passive: false });
}

function hasFocus(element) {
  return element.getRootNode().activeElement === element;
}

function dragTo(view, drag, event) {
  const [right, below] = [event.clientX - drag.x, event.clientY - drag.y];
  if (!drag.far && Math.hypot(right, below) < 4) return;
  Object.assign(drag, { x: event.clientX, y: event.clientY, far: true });
  moveAxis(view.across, view.across.first - right / view.across.cell);
  moveAxis(view.down, view.down.first - below / view.down.cell);
  redraw(view);
}

export function listenToKeys(view) {
  const { plot, down, across } = view;
  const middle = () => [across.length / 2, down.length / 2];
  const actions = {
    "+": () => zoomBy(view, 1.25, ...zoomCentre()),
    "=": () => zoomBy(view, 1.25, ...zoomCentre()),
    "-": () => zoomBy(view, 0.8, ...zoomCentre()),
    0: () => zoomBy(view, 1 / view.zoom, ...middle()),
    Enter: () => pin(view.model, current()),
    " ": () => pin(view.model, current()),
    Escape: () => change(view.model, "selected", null),
  };
  const current = () => view.cursor ?? validCell(view, view.model.get("selected")) ?? view.resting;

  function zoomCentre() {
    const [y, x] = placesOf(view, current());
    const centre = [middleOf(across, x), middleOf(down, y)];
    return centre.every((pixel, i) => pixel >= 0 && pixel <= [across, down][i].length)
      ? centre : middle();
  }
  function goTo(places) {
    bringIntoView(down, places[0]);
    bringIntoView(across, places[1]);
    view.resting = cellOf(view, ...places);
    view.cursor = view.resting;
    redraw(view);
  }
  plot.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = moveByKey(view, event.key, placesOf(view, current()));
    const action = actions[event.key];
    if (!move && !action) return;
    event.preventDefault();
    event.stopPropagation();
    const keep = view.cursor ?? view.resting;
    if (move) goTo(move);
    else {
      action();
      moveCursor(view, keep);
    }
  });
  plot.addEventListener("focus", () => {
    if (plot.matches(":focus-visible")) moveCursor(view, current());
  });
  plot.addEventListener("blur", () => moveCursor(view, null));
}
