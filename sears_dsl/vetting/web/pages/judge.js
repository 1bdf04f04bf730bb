// The first task: rules one at a time.
import { ask, askMany, send } from "./server.js";
import { alone, counted, example, find, findings, latest, make, marked, number, openDialog, say, sidesOf, signs, summary, tell } from "./parts.js";
import { askWhy } from "./reasons.js";

const PAGE = 20;
const LONG = 60; // characters from which on a rule is set smaller
const MARKS = { accept: "✓", edit: "✎", reject: "✕", skip: "↷", "": "•" };
const WORDS = { accept: "accepted", edit: "edited", reject: "rejected", skip: "skipped", "": "to judge" };

let task;
let current = null;
let shown = null;
let loaded = 0;
let wanted = "mistakes";
let showing = null; // what was asked for, until it is on the page
let edited = null; // the rule that the dialog edits

export function start(given) {
  task = given;
  find("accept").addEventListener("click", () => decide("accept"));
  find("skip").addEventListener("click", () => decide("skip"));
  find("reject").addEventListener("click", () => openReject());
  find("edit").addEventListener("click", () => openEdit());
  find("undo-judge").addEventListener("click", undo);
  find("more").addEventListener("click", alone(() => examples(PAGE, loaded)));
  for (const radio of document.getElementsByName("only")) {
    radio.addEventListener("change", () => {
      wanted = only();
      examples().catch((error) => tell(error.message));
    });
  }
  find("edit-dialog").querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    saveEdit();
  });
  find("edit-text").addEventListener("input", () => {
    find("edit-save").disabled = true; // until this text was tried
    tryEdit();
  });
}

const items = () => task.overview.judge.items;
const place = (id = current) => items().findIndex((item) => item.id === id);

export function render() {
  const judge = task.overview.judge;
  if (current === null || place() < 0) current = judge.next ?? items()[0]?.id ?? null;
  const decided = judge.accepted + judge.rejected;
  find("tally").textContent = `${judge.accepted} accepted, ${judge.rejected} rejected, ${judge.left} left; accepted rules induce ${counted(judge.mistakes, "mistake")}`;
  find("progress").max = Math.max(1, decided + judge.left);
  find("progress").value = decided;
  find("count-judge").textContent = `${decided}/${decided + judge.left}`;
  const queue = find("queue");
  queue.replaceChildren(...items().map(queued));
  const chosen = queue.querySelector("[aria-current]")?.parentElement; // a line is placed in the list, a button in its line
  if (chosen) queue.scrollTop = chosen.offsetTop - (queue.clientHeight - chosen.offsetHeight) / 2;
  const undoButton = find("undo-judge");
  undoButton.disabled = judge.undo === null;
  undoButton.title = judge.undo === null ? "Nothing to undo" : `Undo: ${judge.undo}`;
  showing = show().catch((error) => tell(error.message));
  return showing;
}

function queued(item) {
  const button = make("button", { type: "button" },
    make("span", { className: `mark ${item.verdict}`, "aria-hidden": "true" }, MARKS[item.verdict]),
    make("span", { className: "mono", title: item.new || item.text }, sidesOf(item.new || item.text)),
    make("span", { className: "flips", title: "mistakes induced" }, item.flips.toLocaleString("en")),
    make("span", { className: "hidden" }, ` mistakes, ${WORDS[item.verdict]}`));
  if (item.id === current) button.setAttribute("aria-current", "true");
  button.addEventListener("click", () => go(item.id));
  const done = ["accept", "edit", "reject"].includes(item.verdict);
  return make("li", { className: `${done ? "decided" : ""} ${item.verdict}` }, button);
}

async function go(id) {
  current = id;
  await render();
  find("rule-text").focus({ preventScroll: true });
}

function step(by) {
  const next = items()[place() + by];
  if (next) go(next.id);
}

async function show() {
  const none = current === null;
  for (const name of ["accept", "reject", "edit", "skip"]) find(name).disabled = none;
  if (none) {
    find("rule").replaceChildren(make("h2", { id: "rule-text", tabIndex: -1 }, "There is no rule to judge."));
    find("examples").replaceChildren();
    find("narrowed").hidden = true;
    return;
  }
  const id = current;
  const rule = await ask("rule", { id });
  if (id !== current) return showing;
  const again = shown?.id === id;
  shown = rule;
  const at = place();
  const item = items()[at];
  const verdict = rule.verdict;
  const list = make("dl", { className: "signs" });
  signs(list, rule.signs);
  const why = rule.why ? make("p", { className: "quiet" }, rule.why) : null;
  const parts = [
    make("div", { className: "row spread" },
      make("p", { className: "quiet", id: "rule-place" }, `Rule ${at + 1} of ${items().length} · ${id}`),
      verdict ? make("span", { className: `verdict ${verdict.verdict}` }, told(verdict)) : null),
    make("h2", { id: "rule-text", className: `rule-text ${rule.text.length > LONG ? "long" : ""}`, tabIndex: -1 }, ...withArrow(rule)),
    make("p", {}, rule.words),
    rule.context ? make("p", { className: "quiet" }, "Context, which stays as it is (__ marks what is replaced): ", make("span", { className: "mono" }, rule.context)) : null,
    item.twin ? make("p", { className: "quiet" }, `Nearly the same as ${item.twin}, which is also in the list.`) : null,
    !item.verdict && !item.twin && item.gain === 0 ? make("p", { className: "quiet" }, "Adds no mistakes to those of the rules above it.") : null,
    list,
    make("div", { className: "numbers" }, ...summary(rule.summary)),
    why,
    rule.keeps_label ? null : make("p", {}, `This rule may change the label: ${expected(rule)} Judge whether that is so, not whether the texts mean the same.`),
  ];
  find("rule").replaceChildren(...parts.filter((part) => part !== null));
  narrowed(rule);
  if (!again) choose(rule.summary.flips === 0 ? "all" : wanted);
  await examples(again ? Math.max(PAGE, loaded) : PAGE);
}

/** What a rule says of the label, in a sentence. */
function expected({ expect }) {
  if (expect === "flip") return "its rewrites should have another label than the row.";
  return `its rewrites should have the label “${expect.replace(/^label /, "")}”.`;
}

/** What is said of a rewrite, that it is as it should be or not, in the words of its buttons. */
const marksOf = (rule) => rule.keeps_label
  ? { question: "Does this pair mean the same?", good: "same", bad: "differs", as: ["the same", "differing"] }
  : { question: "Does this rewrite have the label that the rule says?", good: "fits", bad: "does not fit", as: ["fitting", "not fitting"] };

/** What the marks on pairs ask for: the same rule in fewer places, the shortest condition first. */
function narrowed(rule) {
  const [good, bad] = marksOf(rule).as;
  find("narrowed").hidden = rule.differing === 0;
  find("narrowed-told").textContent = rule.narrowed.length
    ? `The rule with the shortest conditions that leave out the pairs you marked as ${bad} and keep those you marked as ${good}.`
    : `No condition on the words in or beside the change separates the pairs you marked as ${bad} from the rest. Mark more pairs, edit the rule, or reject it.`;
  find("narrowed-rules").replaceChildren(...rule.narrowed.map((each, at) => {
    const take = make("button", { type: "button", className: "good" }, at === 0 ? make("kbd", {}, "N") : null, " Take", make("span", { className: "hidden" }, ` ${each.text} instead`));
    take.addEventListener("click", () => decide("edit", { new: each.text }, rule));
    const look = make("button", { type: "button", "aria-haspopup": "dialog" }, "Look…", make("span", { className: "hidden" }, ` at what ${each.text} does`));
    look.addEventListener("click", () => openEdit(each.text, rule));
    return make("li", {}, make("span", { className: "mono" }, sidesOf(each.text)), make("span", { className: "quiet" }, effects(each, marksOf(rule).as)), make("div", { className: "row" }, take, look));
  }));
}

function effects(each, [good, bad]) {
  const of = (some, all, what) => `${some.toLocaleString("en")} of ${counted(all, what)}`;
  const same = each.of_same ? `keeps ${of(each.same, each.of_same, "pair")} marked as ${good}, ` : "keeps ";
  const unknown = each.not_asked ? `; the model was not asked about ${counted(each.not_asked, "rewrite")} at a later place of its row: Look… asks it` : "";
  return `${same}${of(each.differs, each.of_differs, "pair")} marked as ${bad}; changes ${of(each.changed, each.of_changed, "row")}, induces ${of(each.mistakes, each.of_mistakes, "mistake")}${unknown}`;
}

function withArrow({ antecedent, consequent }) {
  // Each side in its own direction, but what is replaced always before what replaces it.
  return [make("bdi", {}, antecedent), make("span", { className: "arrow", "aria-hidden": "true" }, " → "), make("span", { className: "hidden" }, " becomes "), make("bdi", {}, consequent)];
}

function told(verdict) {
  if (verdict.verdict === "reject") return `rejected: ${task.overview.reasons[verdict.reason]}${verdict.note ? ` (${verdict.note})` : ""}`;
  if (verdict.verdict === "edit") return `edited: ${verdict.new}`;
  return WORDS[verdict.verdict];
}

const only = () => [...document.getElementsByName("only")].find((radio) => radio.checked).value;

function choose(value) {
  for (const radio of document.getElementsByName("only")) radio.checked = radio.value === value;
}

async function examples(most = PAGE, first = 0) {
  const rule = onPage();
  if (!rule) return; // they come with the rule, once it is there
  const { id } = rule;
  const which = only();
  const found = await askMany("examples", "examples", { id, only: which }, most, first);
  if (id !== current || which !== only()) return;
  const made = found.examples.map((each) => example(each, (pair, same) => judgePair(rule, pair, same), marksOf(rule)));
  const list = find("examples");
  if (first) list.append(...made);
  else list.replaceChildren(...made);
  loaded = first + made.length;
  if (!found.total) list.replaceChildren(make("li", { className: "quiet" }, which === "mistakes" ? "The model makes no mistake on the rows that this rule changes." : "The rule changes no row."));
  const left = found.total - loaded;
  find("more").hidden = left <= 0;
  find("more").textContent = `Show more (${left.toLocaleString("en")} left)`;
  if (first) made[0]?.querySelector("button")?.focus();
}

/** Mark an example of a rule: the one beside it, even if another one is on its way. */
const judgePair = alone(async (rule, each, same) => {
  const from = [...find("examples").querySelectorAll("button")].indexOf(document.activeElement);
  const top = document.activeElement.getBoundingClientRect().top;
  const before = rule.narrowed[0]?.text;
  await task.decide("pair", { rule: rule.id, row: each.row, same });
  if (shown?.id !== rule.id) return;
  const button = find("examples").querySelectorAll("button")[from];
  button?.focus({ preventScroll: true });
  // What is proposed appears above: the examples stay where they are on the screen.
  if (button) window.scrollBy(0, button.getBoundingClientRect().top - top);
  const first = shown.narrowed[0]?.text;
  if (first && first !== before) say(`Narrowed rule: ${first}. Press N to take it.`);
});

/** The rule on the page, or null until it is there. */
const onPage = () => (shown?.id === current ? shown : null);

/** Decide about a rule: that of a dialog, whatever the page shows meanwhile, or that of the page. */
const decide = alone(async (kind, content = {}, about = null) => {
  await showing;
  const rule = about ?? onPage();
  if (!rule) return;
  const { text } = rule;
  const word = WORDS[kind];
  const after = items()[place(rule.id) + 1];
  if (!await task.decide(kind, { rule: rule.id, ...content })) return;
  const next = task.overview.judge.next;
  current = next ?? after?.id ?? current;
  await render();
  find("rule-text").focus({ preventScroll: true });
  window.scrollTo({ top: 0 });
  say(next ? `${text} ${word}. Next: ${shown?.text}` : `${text} ${word}. No rule is left to judge.`);
  if (!next) tell("All rules are judged. “Write vetted ruleset” writes the file.", { done: true });
});

const undo = alone(async () => {
  const { undo: what, undo_rule: rule } = task.overview.judge;
  if (what === null) return;
  if (!await task.decide("undo", { task: "judge" })) return;
  current = rule ?? current;
  await render();
  find("rule-text").focus({ preventScroll: true });
  say(`Undone: ${what}`);
});

const openReject = alone(async () => {
  await showing;
  const rule = onPage();
  if (rule) askWhy("rule", rule.text, rule.reasons, (why) => decide("reject", why, rule));
});

const openEdit = alone(async (text = "", about = null) => {
  await showing;
  edited = about ?? onPage();
  if (!edited) return;
  find("edit-text").value = text || edited.verdict?.new || edited.text;
  openDialog("edit-dialog");
  find("edit-text").focus();
  find("edit-save").disabled = true;
  tryEdit();
});

const tryEdit = latest(async (signal) => {
  const text = find("edit-text").value.trim();
  try {
    const typed = await send("typed", { text, rule: edited.id });
    findings(find("edit-findings"), typed.findings);
    const changed = typed.text && typed.text !== edited.text;
    if (!signal.aborted) find("edit-save").disabled = !changed;
    find("edit-numbers").replaceChildren(...(typed.text ? [number(typed.changed.toLocaleString("en"), "rows changed in all")] : []));
    find("edit-examples").replaceChildren(...typed.examples.slice(0, 5).map((each) => make("li", {}, make("div", { className: "text" }, marked(each.pieces)))));
    if (!typed.text) return;
    let found;
    do {
      found = await send("mistakes", { text, rule: edited.id }, signal);
      find("edit-numbers").replaceChildren(...summary(found.summary));
    } while (!found.complete && find("edit-dialog").open);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    findings(find("edit-findings"), [{ severity: "error", text: error.message }]);
    find("edit-numbers").replaceChildren();
    find("edit-examples").replaceChildren();
  }
});

const saveEdit = () => decide("edit", { new: find("edit-text").value.trim() }, edited);

async function takeNarrowed() {
  await showing;
  const rule = onPage();
  const first = rule?.narrowed[0];
  if (first) await decide("edit", { new: first.text }, rule);
  else say(`No narrowed rule is proposed: mark an example that ${marksOf(shown ?? { keeps_label: true }).bad}.`);
}

export function key(pressed) {
  const actions = {
    a: () => decide("accept"), r: openReject, e: () => openEdit(), n: takeNarrowed, s: () => decide("skip"), u: undo,
    j: () => step(1), k: () => step(-1),
    m: () => {
      const radios = [...document.getElementsByName("only")];
      radios.find((radio) => !radio.checked).click();
      say(only() === "mistakes" ? "Mistakes only" : "All rows");
    },
  };
  const action = actions[pressed];
  if (action) action();
  return Boolean(action);
}
