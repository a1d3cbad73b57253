import { answer, documentOf, reading } from "./reading.js";
import { trace } from "./trace.js";
import { byFactors, equally, inAnyOrder, turnable } from "./turning.js";
import { unpack } from "./weights.js";

// The engine's conversation with a page, in a worker. Every message is an object with a `type`:
//
//   → {type: "load", bundle}              ← {type: "ready", models: [id]}
//   → {type: "read", id, text, erased, removal, uniform, models}
//                                         ← {type: "reading", id, model, …} per model
//   → {type: "leave_one_out", the same}   ← {type: "partial", id, model, index, drop} per word,
//                                           {type: "done", id, model} per model
//   → {type: "trace", the same, word, choice}
//                                         ← {type: "trace", id, model, trace} per model
//   → {type: "turn", the same, path, everywhere, factors}
//                                         ← {type: "turned", id, model, probabilities} per model
//   → {type: "compare", the same, path, everywhere}
//                                         ← {type: "compared", id, model, equal, shuffled} per model
//   ← {type: "error", id, message}
//
// `erased` holds places among all tokens of the text, `removal` is "delete" or "mask", `models` the
// ids of those that are asked (all, if it is missing). `word` and `choice` are trace.js's, and `path`
// names a row of weights as a trace does; `factors` multiply the weights of its places. A message with
// another id ends the work on earlier ones.

const SHUFFLES = 20;
const PATIENCE = 12; // milliseconds of work before messages are looked at again

function optionsOf({ erased = [], removal = "delete", uniform = false }) {
  if (!["delete", "mask"].includes(removal))
    throw new Error(`removal takes "delete" or "mask", got ${JSON.stringify(removal)}`);
  return { erased: new Set(erased), removal, given: uniform || null };
}

/** Answers messages through `post`; `handle` takes them. */
export function conversation(post) {
  let engine = null;
  let latest = null;
  let worked = 0;

  /** Lets a newer message in, now and then; false if there was one and this work is over. */
  async function goesOn(id) {
    if (performance.now() - worked > PATIENCE) {
      await new Promise((resume) => setTimeout(resume));
      worked = performance.now();
    }
    return latest === id;
  }

  function chosen(ids) {
    if (!engine) throw new Error("no bundle is loaded");
    for (const id of ids ?? [])
      if (!engine.models.some((model) => model.id === id)) throw new Error(`no model ${id}`);
    return engine.models.filter(({ id }) => !ids || ids.includes(id));
  }

  async function load({ bundle }) {
    engine = await unpack(bundle);
    post({ type: "ready", models: engine.models.map(({ id }) => id) });
  }

  async function read({ id, text, models, ...rest }) {
    const [asked, options] = [chosen(models), optionsOf(rest)];
    for (const model of asked) {
      if (!(await goesOn(id))) return;
      const found = reading(model, documentOf(model, text, engine.punkt), options);
      post({ type: "reading", id, model: model.id, ...found });
    }
  }

  /** What the predicted class loses without each word that is still there. */
  async function leaveOneOut({ id, text, models, ...rest }) {
    const [asked, options] = [chosen(models), optionsOf(rest)];
    for (const model of asked) {
      const sentences = documentOf(model, text, engine.punkt);
      const { probabilities, places } = answer(model, sentences, options);
      const predicted = probabilities.indexOf(Math.max(...probabilities));
      for (const index of new Set(places)) {
        if (options.erased.has(index)) continue;
        if (!(await goesOn(id))) return;
        const erased = new Set([...options.erased, index]);
        const without = answer(model, sentences, { ...options, erased }).probabilities;
        const drop = probabilities[predicted] - without[predicted];
        post({ type: "partial", id, model: model.id, index, drop });
      }
      if (!(await goesOn(id))) return;
      post({ type: "done", id, model: model.id });
    }
  }

  async function traceOf({ id, text, models, word, choice, ...rest }) {
    const [asked, options] = [chosen(models), optionsOf(rest)];
    for (const model of asked) {
      if (!(await goesOn(id))) return;
      const sentences = documentOf(model, text, engine.punkt);
      const found = options.given ? null : trace(model, sentences, options, { word, choice });
      post({ type: "trace", id, model: model.id, trace: found });
    }
  }

  async function turn({ id, text, models, path, everywhere, factors, ...rest }) {
    const [asked, options] = [chosen(models), optionsOf(rest)];
    for (const model of asked) {
      if (!(await goesOn(id))) return;
      const sentences = documentOf(model, text, engine.punkt);
      const { answers } = turnable(model, sentences, options, { path, everywhere });
      post({ type: "turned", id, model: model.id, probabilities: answers(byFactors(factors)) });
    }
  }

  /** What equal weights, and the same weights shuffled, would answer in the place of a row. */
  async function compare({ id, text, models, path, everywhere, ...rest }) {
    const [asked, options] = [chosen(models), optionsOf(rest)];
    for (const model of asked) {
      const sentences = documentOf(model, text, engine.punkt);
      const { answers } = turnable(model, sentences, options, { path, everywhere });
      const [equal, shuffled] = [answers(equally), []];
      for (let seed = 0; seed < SHUFFLES; seed++) {
        if (!(await goesOn(id))) return;
        shuffled.push(answers(inAnyOrder(seed)));
      }
      post({ type: "compared", id, model: model.id, equal, shuffled });
    }
  }

  const answers = { load, read, leave_one_out: leaveOneOut, trace: traceOf, turn, compare };

  return async function handle(message) {
    const { type, id = null } = message;
    latest = id;
    try {
      if (!Object.hasOwn(answers, type)) throw new Error(`no message ${JSON.stringify(type)}`);
      await answers[type](message);
    } catch (error) {
      post({ type: "error", id, message: String(error?.message ?? error) });
    }
  };
}

if (typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope) {
  const handle = conversation((message) => self.postMessage(message));
  self.onmessage = (event) => handle(event.data);
}
