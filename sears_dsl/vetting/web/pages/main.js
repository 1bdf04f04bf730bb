// The page as a whole: tasks in tabs, decisions, keys, what other tabs did meanwhile.
import { ask, send } from "./server.js";
import { alone, asking, busy, counted, find, tell } from "./parts.js";
import * as judge from "./judge.js";
import * as write from "./write.js";
import * as pick from "./pick.js";
import * as read from "./read.js";
import * as reasons from "./reasons.js";

let TASKS = { judge, write, pick, read }; // those that this sitting has
let shown = "judge";

const task = {
  overview: null,

  /** Make a decision; false where it was refused, which is then told. */
  async decide(kind, content) {
    try {
      this.overview = await send("decide", { kind, revision: this.overview.revision, ...content });
      asking()?.close();
      tell("");
    } catch (error) {
      if (error.status === 409) await refresh();
      tell(error.message);
      return false;
    }
    if (["pair", "save", "remove"].includes(kind) || content.task === "write") await renderAll();
    else counts();
    return true;
  },
};

function counts() {
  for (const name of Object.keys(TASKS)) if (name !== shown) TASKS[name].render();
}

async function renderAll() {
  await Promise.all(Object.values(TASKS).map((each) => each.render()));
}

async function refresh() {
  task.overview = await ask("overview");
  await renderAll();
}

/** Show what another tab has decided; until it is on the page, nothing is decided here. */
const catchUp = alone(async (now) => {
  task.overview = now;
  await renderAll();
  tell("Another tab has decided something; this is the current state.");
});

function select(name, { focus = false } = {}) {
  shown = name;
  for (const each of Object.keys(TASKS)) {
    const tab = find(`tab-${each}`);
    tab.setAttribute("aria-selected", String(each === name));
    tab.tabIndex = each === name ? 0 : -1;
    find(each).hidden = each !== name;
  }
  if (focus) find(`tab-${name}`).focus();
  tell("");
}

function keys() {
  const names = Object.keys(TASKS);
  for (const name of names) {
    const tab = find(`tab-${name}`);
    tab.addEventListener("click", () => select(name));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) select(names[(names.indexOf(name) + step + names.length) % names.length], { focus: true });
      if (event.key === "Home") select(names[0], { focus: true });
      if (event.key === "End") select(names.at(-1), { focus: true });
    });
  }
  const on = find("keys-on");
  on.checked = localStorage.getItem("sears-keys") !== "off";
  const told = () => {
    localStorage.setItem("sears-keys", on.checked ? "on" : "off");
    document.body.classList.toggle("no-keys", !on.checked);
  };
  on.addEventListener("change", told);
  told();
  document.addEventListener("keydown", (event) => {
    if (!on.checked || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("dialog, textarea, input:not([type=radio])")) return;
    if (event.key === "?") find("help-dialog").showModal();
    else if (busy() || !TASKS[shown].key(event.key.toLowerCase())) return;
    event.preventDefault();
  });
}

async function finish() {
  try {
    const { written } = await send("write", {});
    tell(written, { done: true });
  } catch (error) {
    tell(error.message);
  }
}

/** Of a model in a file the name of the file, without its folders and its hash. */
const short = (model) => (model.startsWith("http") ? model : model.replace(/[^\s:]*\//g, "").replace(/ \([0-9a-f]+\)$/, ""));

async function begin() {
  try {
    task.overview = await ask("overview");
  } catch (error) {
    find("about").textContent = "";
    tell(error.message);
    return;
  }
  const { ruleset, data, model, reviewer } = task.overview;
  const has = (name) => name in task.overview;
  for (const name of Object.keys(TASKS)) find(name).hidden = find(`tab-${name}`).hidden = !has(name);
  for (const row of document.querySelectorAll("[data-task]")) row.hidden = !row.dataset.task.split(" ").some(has);
  TASKS = Object.fromEntries(Object.entries(TASKS).filter(([name]) => has(name)));
  document.querySelector(".tabs").hidden = Object.keys(TASKS).length < 2;
  select(Object.keys(TASKS)[0]);
  find("title").textContent = `Vetting ${ruleset.name}`;
  document.title = `Vetting ${ruleset.name} – sears`;
  if (data) find("about").textContent = `${reviewer} · ${data.rows.toLocaleString("en")} rows, ${data.right.toLocaleString("en")} right · ${short(model)}`;
  else find("about").textContent = `${reviewer} · ${counted(ruleset.templates, "template")}`;
  find("about").title = model ?? "";
  reasons.start();
  for (const each of Object.values(TASKS)) each.start(task);
  find("help-button").addEventListener("click", () => find("help-dialog").showModal());
  find("finish").addEventListener("click", alone(finish));
  keys();
  await renderAll();
  // Another tab, or the same journal in another window, may have decided meanwhile.
  window.addEventListener("focus", async () => {
    try {
      const now = await ask("overview");
      if (now.revision > task.overview.revision) await catchUp(now);
    } catch (error) {
      tell(error.message);
    }
  });
  document.body.dataset.ready = "true";
}

begin();
