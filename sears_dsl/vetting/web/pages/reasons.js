// The dialog that asks why something is rejected; it is the same for rules and for templates.
import { find, make, openDialog } from "./parts.js";

let rejecting = () => {};

export function start() {
  const form = find("reject-dialog").querySelector("form");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const reason = find("reasons").querySelector("input:checked")?.value;
    rejecting({ ...(reason && { reason }), note: find("note").value });
  });
  find("note").addEventListener("keydown", (event) => {
    if (event.isComposing || event.shiftKey) return;
    if (event.key === "Enter") {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "ArrowDown" && !find("note").value) {
      event.preventDefault();
      const first = find("reasons").querySelector("input");
      first.checked = true;
      first.focus();
    }
  });
}

/** Ask why; `reject({reason, note})` makes the decision, which closes the dialog. */
export function askWhy(what, text, reasons, reject) {
  rejecting = reject;
  find("reject-title").textContent = `Why do you reject this ${what}?`;
  find("reject-rule").textContent = text;
  find("note").value = "";
  const choices = Object.entries(reasons).filter(([key]) => key !== "none").map(([key, word]) =>
    make("label", {}, make("input", { type: "radio", name: "reason", value: key }), `The ${what} ${word.startsWith("another") ? "is bad for another reason" : word}`));
  find("reasons").replaceChildren(make("legend", { className: "hidden" }, "Reason"), ...choices);
  openDialog("reject-dialog");
  find("note").focus();
}
