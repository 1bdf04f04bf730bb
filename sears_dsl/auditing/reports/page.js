"use strict";
const rows = [...document.querySelectorAll("[data-outcome]")];
const search = document.getElementById("search");
const buttons = [...document.querySelectorAll(".tools button[data-show]")];
let shown = "all";

function refresh() {
  const wanted = search.value.trim().toLowerCase();
  let count = 0;
  for (const row of rows) {
    const fits = (shown === "all" || row.dataset.outcome === shown)
      && row.dataset.words.includes(wanted);
    row.classList.toggle("hidden", !fits);
    if (fits && row.tagName === "TR") count += 1;
  }
  document.getElementById("count").textContent = count + (count === 1 ? " rule" : " rules");
}

if (search) {
  search.addEventListener("input", refresh);
  for (const button of buttons) {
    button.addEventListener("click", () => {
      shown = button.dataset.show;
      for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
      refresh();
    });
  }
}

function open_target() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
}
window.addEventListener("hashchange", open_target);
open_target();
