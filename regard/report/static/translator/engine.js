// The engine, in a worker that is made from a text of this page: nothing is loaded.

const source = document.getElementById("engine").textContent;
const waiting = new Map(); // id -> { resolve, reject, onMessage }
let worker = null;
let lastId = 0;

/** Ask the engine: a promise of its answer. `onMessage` is called with what comes before. */
export function ask(kind, data, onMessage = () => {}) {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject, onMessage });
    worker.postMessage({ ...data, id, kind });
  });
}

/** Start the worker and give it the weights of the page. */
export async function startEngine() {
  if (typeof DecompressionStream === "undefined" || typeof Worker === "undefined")
    throw new Error("this browser is too old: the page needs one of 2023 or later");
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  worker = new Worker(address);
  worker.onmessage = ({ data }) => receive(data);
  worker.onerror = (event) => {
    event.preventDefault();
    for (const { reject } of waiting.values()) reject(new Error(event.message || "the engine could not start"));
    waiting.clear();
  };
  const weights = document.getElementById("weights");
  const base64 = weights.textContent;
  weights.remove(); // millions of characters that are not needed twice
  return ask("open", { base64, simd: new URLSearchParams(location.search).get("simd") !== "0" });
}

function receive({ id, done, error, ...message }) {
  const request = waiting.get(id);
  if (!request) return;
  if (done === undefined && error === undefined) return request.onMessage(message);
  waiting.delete(id);
  if (error === undefined) request.resolve(done);
  else request.reject(new Error(error));
}
