// The second task: rules of the reviewer's own, tried on every row while they are typed.
import { send } from "./server.js";
import { alone, counted, example, find, findings, latest, make, number, say, sidesOf, signs } from "./parts.js";

let task;
let all = [];
let mistakes = null;

export function start(given) {
  task = given;
  for (const name of ["antecedent", "consequent"]) find(name).addEventListener("input", tryRule);
  for (const radio of document.getElementsByName("only-write")) radio.addEventListener("change", list);
  find("writer").addEventListener("submit", (event) => {
    event.preventDefault();
    save();
  });
  find("undo-write").addEventListener("click", undo);
}

const text = () => `${find("antecedent").value.trim()} -> ${find("consequent").value.trim()}`;

export function render() {
  const write = task.overview.write;
  find("count-write").textContent = write.rules.length || "";
  find("saved-total").textContent = write.rules.length
    ? `${counted(write.mistakes, "mistake")} induced by ${counted(write.rules.length, "rule")} together`
    : "No rule is saved yet.";
  find("saved").replaceChildren(...write.rules.map((rule) => {
    const remove = make("button", { type: "button", "aria-label": `Remove ${rule.text}` }, "Remove");
    remove.addEventListener("click", alone(async () => {
      if (await task.decide("remove", { text: rule.text })) say(`${rule.text} removed`);
      find("antecedent").focus();
    }));
    return make("li", {}, make("span", { className: "mono" }, sidesOf(rule.text)), remove,
      make("span", { className: "quiet" }, `${counted(rule.flips, "mistake")}, ${rule.added.toLocaleString("en")} of them new`));
  }));
  find("undo-write").disabled = write.undo === null;
  find("undo-write").title = write.undo === null ? "Nothing to undo" : `Undo: ${write.undo}`;
  numbers(null);
  if (find("antecedent").value) tryRule();
}

function numbers(found, typed = null) {
  const write = task.overview.write;
  const boxes = [];
  if (typed?.text) boxes.push(number(typed.changed.toLocaleString("en"), "rows it applies to"));
  if (found) boxes.push(number(found.summary.flips.toLocaleString("en"), found.complete ? "mistakes induced" : `mistakes so far (${found.asked} of ${found.of} asked)`));
  boxes.push(number(write.mistakes.toLocaleString("en"), "mistakes in total"));
  if (found) boxes.push(number(found.with_this.toLocaleString("en"), "mistakes if this rule is saved"));
  find("numbers-write").replaceChildren(...boxes);
}

const tryRule = latest(async (signal) => {
  const rule = text();
  find("save").disabled = true;
  mistakes = null;
  if (!find("antecedent").value.trim() || !find("consequent").value.trim()) {
    findings(find("findings"), []);
    signs(find("signs-write"), []);
    all = [];
    list();
    numbers(null);
    return;
  }
  try {
    const typed = await send("typed", { text: rule });
    findings(find("findings"), typed.findings);
    signs(find("signs-write"), typed.signs ?? []);
    all = typed.examples;
    list();
    numbers(null, typed);
    if (!typed.text) return;
    let found;
    do {
      found = await send("mistakes", { text: rule }, signal);
      mistakes = found.examples;
      all = found.rows;
      numbers(found, typed);
      list();
    } while (!found.complete);
    const saved = task.overview.write.rules.some((each) => each.text === typed.text);
    find("save").disabled = saved || typed.changed === 0;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    findings(find("findings"), [{ severity: "error", text: error.message }]);
    all = [];
    mistakes = null;
    list();
    numbers(null);
  }
});

function list() {
  const only = [...document.getElementsByName("only-write")].find((radio) => radio.checked).value;
  const rows = only === "mistakes" ? mistakes ?? [] : all;
  find("applies").replaceChildren(...rows.map((each) => example(each)));
  find("applies-empty").hidden = rows.length > 0;
  const broken = find("findings").querySelector(".error") !== null;
  find("applies-empty").textContent = broken ? "Fix the rule to see where it applies." : all.length && only === "mistakes"
    ? "The model makes no mistake on the rows that this rule changes."
    : find("antecedent").value.trim() && find("consequent").value.trim() ? "The rule applies to no row." : "Rows appear here while you type.";
}

const save = alone(async () => {
  if (find("save").disabled) return;
  const rule = text();
  if (!await task.decide("save", { text: rule })) return;
  say(`${rule} saved`);
  if (text() !== rule) return; // the next one is being typed already
  find("antecedent").value = "";
  find("consequent").value = "";
  tryRule();
  find("antecedent").focus();
});

const undo = alone(async () => {
  const what = task.overview.write.undo;
  if (what !== null && await task.decide("undo", { task: "write" })) say(`Undone: ${what}`);
});

export function key() {
  return false;
}
