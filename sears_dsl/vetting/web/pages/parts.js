// Pieces of the page that several tasks share.

/** An element with properties and children; texts are never read as HTML. */
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A rule with each side in its own direction, so that the left side stands left. */
export const sidesOf = (rule) => rule.split(" -> ").flatMap((side, place) => [place ? " -> " : null, make("bdi", {}, side)]);

export const find = (id) => document.getElementById(id);

export function say(text) {
  find("status").textContent = text;
}

/** The dialog that waits for a decision, if one is open; it has a place for what goes wrong. */
export const asking = () => document.querySelector("dialog[open]:has(.alert)");

/** Open a dialog about a decision; it stays open, with all that was typed, until it is made. */
export function openDialog(id) {
  find(id).showModal();
  tell("");
}

/** Tell what went wrong, or (done) what went well, until the next thing happens. */
export function tell(text, { done = false } = {}) {
  const alert = asking()?.querySelector(".alert") ?? find("alert");
  alert.classList.toggle("done", done);
  alert.textContent = text;
  alert.hidden = !text;
}

export const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

export const percent = (share) => `${Math.round(100 * share)}%`;

/** A text with what was removed and inserted; the words say it to those who do not see it. */
export function marked(pieces) {
  return pieces.flatMap(([kind, text]) => {
    if (kind === "same") return [text];
    if (kind === "note") return [" ", make("small", {}, text)];
    const name = kind === "old" ? "del" : "ins";
    const word = kind === "old" ? "removed: " : "inserted: ";
    // The blank that goes or comes with a word is no part of the change that one looks at.
    const [, before, bare, after] = text.match(/^(\s*)(.*?)(\s*)$/s);
    if (!bare) return [make(name, {}, make("span", { className: "hidden" }, word), text)];
    return [before, make(name, {}, make("span", { className: "hidden" }, word), bare), after];
  });
}

function answer(text, right) {
  const kind = right === null ? "" : right ? "right" : "wrong";
  return make("span", { className: `badge ${kind}` }, text || "(empty)");
}

/** What could be answered: what is right, and what the model chose before and after. */
function choices(each) {
  return make("ul", { className: "answers", "aria-label": "Choices" }, each.choices.map((choice) => {
    const marks = [["right", each.labels.includes(choice)], ["before", each.before === choice], ["after", each.after === choice]];
    const item = make("li", { className: each.after === choice ? "chosen" : "" }, make("bdi", {}, choice));
    for (const [word, here] of marks) if (here) item.append(" ", make("b", {}, word));
    return item;
  }));
}

/** One example; `judge(example, same)` where pairs can be judged, in the words of `marks`. */
export function example(each, judge = null, marks = null) {
  const facts = make("div", { className: "facts" });
  if (each.after === null) {
    facts.append(make("span", { className: "answer" }, answer(each.before, each.right), "→ …"));
  } else {
    const after = each.right ? !each.flip : null;
    facts.append(make("span", { className: "answer" }, answer(each.before, each.right), "→", answer(each.after, after)));
  }
  if (!each.right) facts.append(make("span", {}, `label ${each.labels.join(" or ")}: wrong before`));
  if (each.score !== null) facts.append(make("span", {}, `S ${each.score.toFixed(2)}`));
  facts.append(make("span", {}, `row ${each.number.toLocaleString("en")}`));
  const item = make("li", {}, make("div", { className: "text" }, marked(each.pieces)), facts);
  if (each.picture) {
    item.classList.add("pictured");
    item.prepend(make("img", { className: "picture", src: `api/picture?row=${each.row}`, alt: `The picture of row ${each.number}`, loading: "lazy" }));
  }
  for (const [column, text] of each.beside) facts.before(make("p", { className: "beside" }, make("b", {}, `${column} `), make("bdi", {}, text)));
  if (each.choices.length) facts.before(choices(each));
  if (judge) {
    const group = make("div", { className: "say", role: "group", "aria-label": marks.question });
    for (const [same, word] of [[true, marks.good], [false, marks.bad]]) {
      const button = make("button", { type: "button", "aria-pressed": String(each.same === same) }, word);
      button.addEventListener("click", () => judge(each, each.same === same ? null : same));
      group.append(button);
    }
    item.append(group);
  }
  return item;
}

export function signs(list, found) {
  list.replaceChildren(...found.flatMap(({ sign, meaning }) => [make("dt", {}, sign), make("dd", {}, meaning)]));
}

export function number(value, word) {
  return make("div", {}, make("strong", {}, String(value)), make("span", {}, word));
}

export function findings(box, found) {
  box.replaceChildren(...found.map((each) => make("pre", { className: each.severity }, each.text)));
}

/** Numbers of what a rule does. */
export function summary(found) {
  const [low, high] = found.interval;
  const rate = found.right ? percent(found.flips / found.right) : "–";
  const range = found.right ? `of these become wrong (95%: ${percent(low)} to ${percent(high)})` : "no right row is changed";
  return [
    number(found.flips.toLocaleString("en"), "mistakes induced"),
    number(found.right.toLocaleString("en"), "right rows changed"),
    number(rate, range),
    number(found.changed.toLocaleString("en"), "rows changed in all"),
  ];
}

/** Run for the latest input only: one run at a time, and what is typed meanwhile ends its waiting. */
export function latest(run) {
  let stop = null;
  let again = false;
  return async () => {
    again = true;
    stop?.abort();
    if (stop) return;
    while (again) {
      again = false;
      stop = new AbortController();
      try {
        await run(stop.signal);
      } catch (error) {
        if (error.name !== "AbortError") tell(error.message);
      }
    }
    stop = null;
  };
}

/** Whether a decision is on its way; until what follows from it is shown, nothing else is decided. */
export const busy = () => "busy" in document.body.dataset;

/** Work that is done alone: what is asked for meanwhile would be about something not yet seen. */
export function alone(work) {
  return async (...given) => {
    if (busy()) return;
    document.body.dataset.busy = "true";
    try {
      await work(...given);
    } catch (error) {
      tell(error.message);
    } finally {
      delete document.body.dataset.busy;
    }
  };
}

for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => busy() || button.closest("dialog").close());
}
// A decision that is on its way is made, so its dialog stays until then.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && busy()) event.preventDefault();
});
