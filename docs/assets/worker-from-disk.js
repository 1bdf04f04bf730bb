// A page that is opened from the disk may start no worker: the search then runs in a hidden frame.
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = new URL(address, location.href);
      this.started = new Promise((tell) => script.addEventListener("load", () => tell(inside)));
      frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      this.started.then((inside) =>
        inside.dispatchEvent(new inside.MessageEvent("message", { data }))
      );
    }
  };
}
