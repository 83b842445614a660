// Search from a folder. Browsers start no worker from file://, so an invisible frame does its work there.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      const script = inside.document.createElement("script");
      this.ready = new Promise((resolve) => script.addEventListener("load", () => resolve(inside)));
      // What the script posts to its parent arrives here, as from a worker.
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      };
      script.src = new URL(url, document.baseURI).href;
      inside.document.body.append(script);
    }

    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
  window.Worker = window.IFrameWorker;
}
