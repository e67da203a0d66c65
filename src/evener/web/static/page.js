"use strict";
// What htmx does not do: ask before something dangerous, say when the server is away, sort tables.
document.addEventListener("htmx:confirm", (event) => {
  const question = event.detail.question;
  if (!question) return;
  event.preventDefault();
  const dialog = document.getElementById("ask");
  dialog.querySelector("p").textContent = question;
  dialog.returnValue = "no";
  dialog.onclose = () => {
    if (dialog.returnValue !== "yes") return;
    const asked = event.detail.elt, path = asked.getAttribute("hx-post");
    if (asked.isConnected || !path) event.detail.issueRequest(true);
    else htmx.ajax("POST", path, {source: document.body, swap: "none"});  // its part of the page came anew meanwhile
  };
  if (!dialog.open) dialog.showModal();
});
// A server that was away may be another one now: the page is asked for anew, with whatever its address carries.
const banner = document.getElementById("offline"), away = banner.textContent;
const told = (text) => { banner.textContent = text; banner.hidden = false; };
const back = () => { if (!banner.hidden && banner.textContent === away) location.reload(); };
for (const name of ["htmx:sendError", "htmx:sseError"]) document.addEventListener(name, () => told(away));
for (const name of ["htmx:sseOpen", "htmx:afterOnLoad"]) document.addEventListener(name, back);
document.addEventListener("htmx:responseError", (event) => { if (event.detail.xhr.getResponseHeader("Content-Type")?.startsWith("text/plain")) told(event.detail.xhr.responseText); });
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status >= 400 && event.detail.xhr.responseText.includes('class="fault"')) {
    event.detail.shouldSwap = true; event.detail.isError = false;  // a fault is something to read, where the answer would be
  }
});
document.addEventListener("click", (event) => {
  const head = event.target.closest("th[data-sort]");
  if (!head) return;
  const body = head.closest("table").tBodies[0], at = head.cellIndex;
  const up = head.getAttribute("aria-sort") !== "ascending";
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const value = (row) => { const cell = row.cells[at]; const n = parseFloat(cell.dataset.value ?? cell.textContent); return Number.isNaN(n) ? cell.textContent : n; };
  [...body.rows].sort((a, b) => { const x = value(a), y = value(b); return (x > y ? 1 : x < y ? -1 : 0) * (up ? 1 : -1); }).forEach((row) => body.append(row));
});
// The explorer: a slider says its value, a row shows its cards, and the address bar carries the question.
document.addEventListener("input", (event) => {
  const told = event.target.id && document.querySelector(`output[for="${event.target.id}"]`);
  if (told) told.textContent = event.target.value;
});
document.addEventListener("click", (event) => {
  const chosen = event.target.closest("button[data-layout], button[data-beside]");
  if (!chosen) return;
  for (const [name, value] of Object.entries(chosen.dataset)) document.getElementById(name).value = value;
  document.getElementById("question").requestSubmit();
});
document.addEventListener("htmx:afterSwap", (event) => {
  const link = event.detail.target?.querySelector?.("#link");
  if (link) history.replaceState(null, "", link.getAttribute("href"));
});
// The review desk: one key, one label; not while somebody writes a reason.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input:not([type=hidden]), textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const button = document.querySelector(`#desk button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (button) { event.preventDefault(); button.click(); return; }
  if (event.key === "e") { const reason = document.querySelector("#desk [name=reason]"); if (reason) { event.preventDefault(); reason.focus(); } }
  if ((event.key === "Enter" || event.key === " ") && event.target.matches("th[data-sort]")) { event.preventDefault(); event.target.click(); }
});
// A log that is open is read again: htmx's own condition for that would need eval.
setInterval(() => document.querySelectorAll("details[hx-get][open]").forEach((log) => htmx.trigger(log, "again")), 3000);
// What is wider than its place is scrolled with the arrow keys too.
const reachable = () => document.querySelectorAll(".scroll").forEach((wide) => { if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0; else wide.removeAttribute("tabindex"); });
for (const name of ["htmx:afterSwap", "htmx:sseMessage"]) document.addEventListener(name, reachable);
for (const name of ["load", "resize"]) addEventListener(name, reachable);
// A form that was just put in, and is sent before htmx has taken it in, would leave the page.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || !event.target.matches("[hx-post], [hx-get]")) return;
  event.preventDefault();
  htmx.process(event.target);
  event.target.requestSubmit(event.submitter);
});
