// The worker that holds the networks. A newer question ends an older one.

export function openDesk(program, bundle) {
  const worker = new Worker(
    URL.createObjectURL(new Blob([program], { type: "text/javascript" })));
  let number = 0;
  let current = { end() {} };
  const ready = new Promise((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message || "the worker did not start"));
    worker.onmessage = ({ data }) => {
      if (data.type === "ready") resolve(data.models);
      else if (data.type === "error" && data.id === null) reject(new Error(data.message));
      else if (data.id === number) current.hear(data);
    };
  });
  worker.postMessage({ type: "load", bundle });

  /** Sends a message; `hear` says of every answer whether it was the last. Resolves to whether it
   *  came to its end. */
  function ask(message, hear) {
    current.end(false);
    number += 1;
    return new Promise((end, fail) => {
      current = {
        end,
        hear: (data) => {
          if (data.type === "error") fail(new Error(data.message));
          else if (hear(data)) end(true);
        },
      };
      worker.postMessage({ ...message, id: number });
    });
  }

  function askAll(type, asked, models, last, hear) {
    let left = models.length;
    return ask({ type, ...asked, models }, (data) => {
      hear(data);
      if (data.type === last) left -= 1;
      return left === 0;
    });
  }

  return {
    ready,
    read: (asked, models, hear) => askAll("read", asked, models, "reading", hear),
    leaveOneOut: (asked, models, hear) => askAll("leave_one_out", asked, models, "done", hear),
    trace: (asked, model, hear) => askAll("trace", asked, [model], "trace", hear),
    turn: (asked, model, hear) => askAll("turn", asked, [model], "turned", hear),
    compare: (asked, model, hear) => askAll("compare", asked, [model], "compared", hear),
  };
}
