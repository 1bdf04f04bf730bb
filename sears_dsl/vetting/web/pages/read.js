// Templates one at a time, each with a sample of its sentences.
import { askMany } from "./server.js";
import { alone, counted, find, make, say, tell } from "./parts.js";
import { askWhy } from "./reasons.js";

const PAGE = 10;
const LONG = 60; // characters from which on a template is set smaller
const KEYS = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"];
const MARKS = { accept: "✓", reject: "✕", skip: "↷", "": "•" };
const WORDS = { accept: "accepted", reject: "rejected", skip: "skipped", "": "to judge" };

let task;
let current = null;
let shown = null;
let wanted = PAGE;
let showing = null; // what was asked for, until it is on the page

export function start(given) {
  task = given;
  find("accept-template").addEventListener("click", () => decide("accept"));
  find("reject-template").addEventListener("click", () => openReject());
  find("skip-template").addEventListener("click", () => decide("skip"));
  find("undo-read").addEventListener("click", undo);
  find("more-sentences").addEventListener("click", more);
}

const items = () => task.overview.read.items;
const place = (id = current) => items().findIndex((item) => item.id === id);

export function render() {
  const read = task.overview.read;
  if (current === null || place() < 0) current = read.next ?? items()[0]?.id ?? null;
  const decided = items().length - read.left;
  const count = (verdict) => items().filter((item) => item.verdict === verdict).length;
  find("tally-read").textContent = `${count("accept")} accepted, ${count("reject")} rejected, ${read.left} left; ${counted(read.rejected, "sentence")} rejected`;
  find("progress-read").max = Math.max(1, items().length);
  find("progress-read").value = decided;
  const queue = find("templates");
  queue.replaceChildren(...items().map(queued));
  const chosen = queue.querySelector("[aria-current]");
  if (chosen) queue.scrollTop = chosen.offsetTop - (queue.clientHeight - chosen.offsetHeight) / 2;
  find("undo-read").disabled = read.undo === null;
  find("undo-read").title = read.undo === null ? "Nothing to undo" : `Undo: ${read.undo}`;
  showing = show().catch((error) => tell(error.message));
  return showing;
}

function queued(item) {
  const button = make("button", { type: "button" },
    make("span", { className: `mark ${item.verdict}`, "aria-hidden": "true" }, MARKS[item.verdict]),
    make("span", { className: "mono", title: item.text }, item.id.startsWith("t-") ? item.text : item.id),
    make("span", { className: "flips" }, item.rejected ? `−${item.rejected}` : item.label),
    make("span", { className: "hidden" }, ` ${item.rejected ? "sentences rejected, " : ""}${WORDS[item.verdict]}`));
  if (item.id === current) button.setAttribute("aria-current", "true");
  button.addEventListener("click", () => go(item.id));
  return make("li", { className: `${["accept", "reject"].includes(item.verdict) ? "decided" : ""} ${item.verdict}` }, button);
}

async function go(id) {
  if (id !== current) wanted = PAGE;
  current = id;
  await render();
  find("template-text").focus({ preventScroll: true });
}

function step(by) {
  const next = items()[place() + by];
  if (next) go(next.id);
}

async function show() {
  const id = current;
  const template = await askMany("template", "sentences", { id }, wanted);
  if (id !== current) return showing;
  shown = template;
  const verdict = template.verdict;
  find("template").replaceChildren(...[
    make("div", { className: "row spread" },
      make("p", { className: "quiet", id: "template-place" }, `Template ${place() + 1} of ${items().length} · ${id}${template.tags.length ? ` · ${template.tags.join(", ")}` : ""}`),
      verdict ? make("span", { className: `verdict ${verdict.verdict}` }, told(verdict)) : null),
    make("h2", { id: "template-text", className: `rule-text ${template.text.length > LONG ? "long" : ""}`, tabIndex: -1 }, ...withSlots(template.text)),
    make("p", { className: "claim" }, "Each of its ", make("strong", {}, counted(template.total, "sentence")), " should have the label ", make("span", { className: "badge" }, template.label)),
    template.why ? make("p", { className: "quiet" }, template.why) : null,
  ].filter((part) => part !== null));
  find("sentences").replaceChildren(...template.sentences.map((each, at) => sentence(template, each, at)));
  const left = template.total - template.sentences.length;
  find("more-sentences").hidden = left <= 0;
  find("more-sentences").textContent = `Show more (${left.toLocaleString("en")} left)`;
}

/** The text with its slots set apart; two braces stand for one. */
function withSlots(text) {
  return text.split(/(\{\{|\}\}|\{[^{}]*\})/).map((part) =>
    part.length > 2 && part.startsWith("{") ? make("span", { className: "slot" }, part) : part);
}

function told(verdict) {
  if (verdict.verdict !== "reject") return WORDS[verdict.verdict];
  return `rejected: ${task.overview.reasons[verdict.reason]}${verdict.note ? ` (${verdict.note})` : ""}`;
}

function sentence(template, each, at) {
  const button = make("button", { type: "button", "aria-pressed": String(each.rejected) },
    KEYS[at] ? make("kbd", { "aria-hidden": "true" }, KEYS[at]) : null, each.rejected ? " Rejected" : " Reject");
  button.setAttribute("aria-label", `Reject: ${each.text}`);
  button.addEventListener("click", () => judge(template, each));
  return make("li", { className: each.rejected ? "rejected" : "" },
    make("div", { className: "text" }, each.rejected ? make("s", {}, each.text) : each.text),
    make("div", { className: "say" }, button));
}

/** Reject a sentence of a template, even if another one is on its way, or take that back. */
const judge = alone(async (template, each) => {
  const buttons = () => [...find("sentences").querySelectorAll("button")];
  const from = buttons().indexOf(document.activeElement);
  if (!await task.decide("sentence", { template: template.id, text: each.text, rejected: !each.rejected })) return;
  await render();
  buttons()[from]?.focus({ preventScroll: true });
  say(`${each.text} ${each.rejected ? "taken back" : "rejected"}`);
});

const more = alone(async () => {
  const before = shown.sentences.length;
  wanted = before + PAGE;
  await render();
  find("sentences").querySelectorAll("button")[before]?.focus();
});

/** The template on the page, or null until it is there. */
const onPage = () => (shown?.id === current ? shown : null);

const decide = alone(async (verdict, content = {}, about = null) => {
  await showing;
  const template = about ?? onPage();
  if (!template) return;
  const after = items()[place(template.id) + 1];
  const what = template.text;
  if (!await task.decide("template", { template: template.id, verdict, ...content })) return;
  const next = task.overview.read.next;
  wanted = PAGE;
  current = next ?? after?.id ?? current;
  await render();
  find("template-text").focus({ preventScroll: true });
  window.scrollTo({ top: 0 });
  say(next ? `${what} ${WORDS[verdict]}. Next: ${shown?.text}` : `${what} ${WORDS[verdict]}. No template is left to judge.`);
  if (!next) tell("All templates are judged. “Write vetted ruleset” writes the file.", { done: true });
});

const undo = alone(async () => {
  const { undo: what, undo_template: id } = task.overview.read;
  if (what === null) return;
  if (!await task.decide("undo", { task: "read" })) return;
  current = id ?? current;
  await render();
  find("template-text").focus({ preventScroll: true });
  say(`Undone: ${what}`);
});

const openReject = alone(async () => {
  await showing;
  const template = onPage();
  if (template) askWhy("template", template.text, task.overview.reasons, (why) => decide("reject", why, template));
});

export function key(pressed) {
  const actions = { a: () => decide("accept"), r: openReject, s: () => decide("skip"), u: undo, j: () => step(1), k: () => step(-1) };
  const at = KEYS.indexOf(pressed);
  if (at >= 0 && shown?.id === current && shown.sentences[at]) judge(shown, shown.sentences[at]);
  else if (actions[pressed]) actions[pressed]();
  else return false;
  return true;
}
