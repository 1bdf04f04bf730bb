// The third task: the closest of a few adversaries, or none.
import { ask } from "./server.js";
import { alone, find, make, marked, say, tell } from "./parts.js";

let task;
let at = null;
let shown = null;
let showing = null; // the sentence that was asked for, until it is on the page

export function start(given) {
  task = given;
  find("picker").addEventListener("submit", (event) => {
    event.preventDefault();
    choose();
  });
  find("pick-back").addEventListener("click", () => step(-1));
  find("pick-forward").addEventListener("click", () => step(1));
  find("undo-pick").addEventListener("click", undo);
}

export function render() {
  showing = show().catch((error) => tell(error.message));
  return showing;
}

async function show() {
  const pick = task.overview.pick;
  find("count-pick").textContent = `${pick.done}/${pick.sentences}`;
  find("picker").hidden = pick.sentences === 0;
  find("pick-empty").hidden = pick.sentences > 0;
  if (!pick.sentences) return;
  if (at === null) at = pick.next ?? 0;
  find("undo-pick").disabled = pick.undo === null;
  find("undo-pick").title = pick.undo === null ? "Nothing to undo" : `Undo: ${pick.undo}`;
  find("pick-back").disabled = at === 0;
  find("pick-forward").disabled = at === pick.sentences - 1;
  const number = at;
  const found = await ask("choice", { number });
  if (number !== at) return showing;
  shown = found;
  find("pick-place").textContent = `Sentence ${at + 1} of ${pick.sentences}${found.row === null ? "" : `, row ${found.row.toLocaleString("en")}`}. The model’s answer, “${found.label}”, is right.`;
  find("pick-original").textContent = found.original;
  const options = found.adversaries.map((each, place) => option(String(place), `${place + 1}`,
    make("span", {}, marked(each.pieces)),
    `${each.prediction}${each.score === null ? "" : `, S ${each.score.toFixed(2)}`}`,
    found.choice === each.text));
  options.push(option("none", "0", make("span", {}, "None of them means the same"), "", found.picked && found.choice === null));
  find("pick-choices").replaceChildren(...options);
}

function option(value, key, text, facts, checked) {
  return make("label", {},
    make("input", { type: "radio", name: "choice", value, required: true, checked }),
    make("kbd", { "aria-hidden": "true" }, key), text, make("span", { className: "facts" }, facts));
}

const choose = alone(async (value = null) => {
  await showing;
  if (shown?.number !== at) return;
  const wanted = value === null ? null : find("pick-choices").querySelector(`input[value="${value}"]`);
  if (value !== null && wanted === null) return;
  if (wanted) wanted.checked = true;
  const chosen = find("pick-choices").querySelector("input:checked");
  if (!chosen) return;
  const choice = chosen.value === "none" ? null : Number(chosen.value);
  if (!await task.decide("pick", { number: at, choice })) return;
  const pick = task.overview.pick;
  at = pick.next ?? at;
  await render();
  find("pick-choices").querySelector("input").focus();
  say(pick.next === null ? "All sentences are done." : `Sentence ${at + 1} of ${pick.sentences}: ${shown.original}`);
  if (pick.next === null) tell("All sentences are done.", { done: true });
});

function step(by) {
  const next = at + by;
  if (next < 0 || next >= task.overview.pick.sentences) return;
  at = next;
  render();
}

const undo = alone(async () => {
  const { undo: what, undo_number: number } = task.overview.pick;
  if (what === null) return;
  if (!await task.decide("undo", { task: "pick" })) return;
  at = number ?? at;
  await render();
  say(`Undone: ${what}`);
});

export function key(pressed) {
  if (pressed === "j") step(1);
  else if (pressed === "k") step(-1);
  else if (pressed === "u") undo();
  else if (/^[0-5]$/.test(pressed)) {
    choose(pressed === "0" ? "none" : String(Number(pressed) - 1));
  } else return false;
  return true;
}
