import { makeInspection } from "./inspecting.js";
import { agreement, answerOf } from "./render.js";
import { ofExample, question, sameQuestion, writeAddress } from "./state.js";

// What is asked, and what the networks have said of it. Everything follows from a change of the state.

/** The room. `draw` shows all of it, `drawCard(id)` one reader, `drawTrace` the weight that is traced,
 *  `say(text)` how it stands. */
export function makeRoom(told, { draw, drawCard, drawTrace, say }) {
  const room = {
    told, models: told.models, example: null, pin: null, desk: null,
    click: "erase", // or "trace": what a click on a word does
    state: ofExample(told.examples[0]),
    shown: new Map(), // by reader: { asked, reading }; its drops come word by word
  };
  let turn = 0;
  let addressing = 0;
  let said = null; // the question and the readers whose answers `say` told
  const chosen = () => room.state.readers.filter((id) => room.models.some((one) => one.id === id));

  /** What is known of a question without asking: since the page was made, or from a pin. */
  function readBefore(asked, id) {
    for (const { texts, readings } of told.examples) {
      const place = texts.findIndex((text) => sameQuestion(question(text), asked));
      if (place >= 0 && readings[place][id]) return readings[place][id];
    }
    return room.pin && sameQuestion(room.pin.asked, asked) ? room.pin.shown.get(id)?.reading : undefined;
  }

  function take(id, asked, reading) {
    room.shown.set(id, { asked, reading });
    drawCard(id);
  }

  function takeKnown() {
    const { asked } = room.state;
    for (const id of chosen()) {
      const before = readBefore(asked, id);
      if (before && room.shown.get(id)?.reading !== before) take(id, asked, before);
      const pinned = room.pin && readBefore(room.pin.asked, id);
      if (pinned) room.pin.shown.set(id, { asked: room.pin.asked, reading: pinned });
    }
  }

  /** Shows what is known of the state, and asks the networks for the rest. */
  function answer() {
    takeKnown();
    draw();
    return follow();
  }

  /** Asks the networks for what is not known yet; a later call ends this one. */
  async function follow() {
    turn += 1;
    const own = turn;
    const current = () => own === turn;
    if (!room.desk) return;
    const traced = () => room.inspection.ask(room.desk, room.state.asked, current);
    try {
      await room.desk.ready;
      if (current() && (await readNow(current)) && (await traced()) && (await readPin(current)))
        await leaveOut(current);
    } catch (error) {
      if (current()) say(`The networks stopped: ${error.message}`);
    }
  }

  async function readNow(current) {
    const { asked } = room.state;
    const missing = chosen().filter((id) =>
      !room.shown.has(id) || !sameQuestion(room.shown.get(id).asked, asked));
    if (!missing.length) {
      if (said && !(sameQuestion(said, asked) && String(said.readers) === String(chosen())))
        tell("Read earlier; shown again.");
      return true;
    }
    say("Reading …");
    const start = performance.now();
    const hear = (data) => current() && take(data.model, asked, data);
    if (!(await room.desk.read(asked, missing, hear)) || !current()) return false;
    tell(`Read in ${Math.round(performance.now() - start)} ms.`);
    return true;
  }

  function tell(text) {
    said = { ...room.state.asked, readers: chosen() };
    say(said.text.trim() ? text : "There are no words to read.", said.text.trim());
  }

  async function readPin(current) {
    const { pin } = room;
    const missing = pin ? chosen().filter((id) => !pin.shown.has(id)) : [];
    if (!missing.length) return true;
    const keep = (data) => pin.shown.set(data.model, { asked: pin.asked, reading: data });
    if (!(await room.desk.read(pin.asked, missing, keep)) || !current()) return false;
    draw();
    return true;
  }

  /** Leaves out word after word in the background, then those of the pin, and draws the numbers as
   *  they come. */
  async function leaveOut(current) {
    if (room.state.tint !== "drops") return;
    for (const { asked, shown } of [{ ...room.state, shown: room.shown }, room.pin].filter(Boolean)) {
      const open = chosen().filter((id) => {
        const { done, all } = agreement(shown.get(id));
        return done < all;
      });
      if (!open.length) continue;
      const drawOpen = () => current() && open.forEach(drawCard);
      let due = 0;
      const hear = ({ type, model, index, drop }) => {
        if (!current() || type !== "partial") return;
        (shown.get(model).reading.drops ??= [])[index] = drop;
        due ||= setTimeout(() => ((due = 0), drawOpen()), 120);
      };
      if (!(await room.desk.leaveOneOut(asked, open, hear)) || !current()) return;
      drawOpen();
    }
  }

  room.address = () => {
    const { inspection: { reader, word } } = room;
    return `#${writeAddress({ ...room.state, pinned: room.pin?.asked, traced: reader && { reader, word } })}`;
  };
  function keepAddress() {
    clearTimeout(addressing);
    addressing = setTimeout(() => history.replaceState(null, "", room.address()), 300);
  }
  /** Changes the state; `example` is the name of the one that is shown, if it is one. */
  room.change = (changes, example = null) => {
    room.state = { ...room.state, ...changes };
    room.example = example;
    keepAddress();
    return answer();
  };
  room.ask = (changes) => room.change({ asked: { ...room.state.asked, ...changes } });
  room.goTo = ({ asked, tint, readers, pinned, traced }, example = null) => {
    room.pin = pinned && { asked: pinned, shown: new Map() };
    const changed = room.change({ asked, tint, readers }, example);
    return traced && readers.includes(traced.reader)
      ? room.inspection.open(traced.reader, traced.word) : changed;
  };
  /** Keeps what is read now beside what will be read, or lets it go. */
  room.togglePin = () => {
    const { asked } = room.state;
    const read = [...room.shown].filter(([, shown]) => sameQuestion(shown.asked, asked));
    room.pin = room.pin ? null : { asked, shown: new Map(read) };
    return room.change({}, room.example);
  };
  room.inspection = makeInspection(room, {
    tell: drawTrace, follow: () => (keepAddress(), follow()),
  });
  room.answers = () => room.models.filter(({ id }) => chosen().includes(id) && room.shown.has(id))
    .map((model) => `${model.title}: ${answerOf(model, room.shown.get(model.id).reading)}`).join("; ");
  room.open = (desk) => {
    room.desk = desk;
    say("The networks are being unpacked …");
    desk.ready.then(() => say("The networks are ready. Type, or press a word."), () => {});
    return answer();
  };
  return room;
}
