// Ties the page together: the form, the search, the two columns, the explanation, the judgments.
import { element } from "./elements.js";
import { explanationView } from "./explanation.js";
import { Judgments, save } from "./judgments.js";
import { drawMoves } from "./moves.js";
import { afterItem, beforeItem, pageOf } from "./results.js";
import { post } from "./service.js";
import * as address from "./state.js";

const PAGE_SIZE = 10;
const SLIDER_PAUSE_MS = 150;

const at = (id) => document.getElementById(id);
const form = at("search");
const dialog = at("why");
const judgments = new Judgments();

let shown = null; // { state, answer, page }: what is on the page
let running = null; // aborts the search under way
let explaining = null; // and the explanation

function say(text, isWrong = false) {
  at("status").textContent = text;
  at("status").classList.toggle("wrong", isWrong);
}

async function search({ page = 1, hit = null } = {}) {
  const state = address.readForm(form);
  if (!state.query) {
    say("Type at least one word.", true);
    return;
  }
  running?.abort();
  const mine = new AbortController();
  running = mine;
  say("Searching …");
  at("results").setAttribute("aria-busy", "true");
  try {
    const answer = await post("/v1/search", address.searchBody(state), mine.signal);
    const lastPage = Math.max(1, Math.ceil(answer.hits.length / PAGE_SIZE));
    shown = { state, answer, page: Math.min(page, lastPage) };
    show();
    const opened = hit === null ? undefined : answer.hits.find((found) => found.id === hit);
    if (opened) explain(opened);
  } catch (error) {
    if (error.name === "AbortError") return;
    at("results").hidden = true;
    say(error.message, true);
  } finally {
    if (running === mine) at("results").removeAttribute("aria-busy");
  }
}

function show() {
  const { state, answer, page } = shown;
  const { before, after } = pageOf(answer.hits, page, PAGE_SIZE);
  const judged = judgments.of(state);
  at("before").replaceChildren(...before.map(beforeItem));
  at("after").replaceChildren(
    ...after.map((hit) =>
      afterItem(hit, { judgment: judged[hit.id], onWhy: explain, onJudge: (found, relevance) => judge(state, found, relevance) }),
    ),
  );
  at("before").start = at("after").start = (page - 1) * PAGE_SIZE + 1;
  at("results").hidden = answer.hits.length === 0;
  at("pages").hidden = answer.hits.length <= PAGE_SIZE;
  at("previous").disabled = page === 1;
  at("next").disabled = page * PAGE_SIZE >= answer.hits.length;
  address.writeAddress(state, page, null);
  say(summary(answer, page));
  drawMoves(at("moves"), at("before"), at("after"));
}

function summary(answer, page) {
  if (answer.hits.length === 0) {
    return "No document found. Try other words, another first stage, or all languages.";
  }
  const parts = [
    `${answer.n_candidates} candidates by ${answer.first_stage}`,
    answer.method === "none" ? "not re-ranked" : `re-ranked by ${answer.method}`,
    `query read as ${answer.language}`,
    `${Math.round(answer.took_ms.total)} ms`,
  ];
  if (page > 1) parts.push(`page ${page}`);
  if (answer.unknown_words.length > 0) parts.push(`unknown: ${answer.unknown_words.join(", ")}`);
  return parts.join(" · ");
}

async function explain(hit) {
  explaining?.abort();
  const mine = new AbortController();
  explaining = mine;
  at("why-name").textContent = `${hit.rank}. ${hit.title || hit.id}`;
  at("why-name").lang = hit.language;
  at("why-body").replaceChildren(element("p", "Taking the distance apart …"));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  address.writeAddress(shown.state, shown.page, hit.id);
  try {
    const answer = await post("/v1/explain", address.explainBody(shown.state, hit.id), mine.signal);
    at("why-body").replaceChildren(explanationView(answer, at("why-body").clientWidth));
  } catch (error) {
    if (error.name !== "AbortError") at("why-body").replaceChildren(element("p", error.message, "wrong"));
  }
}

function judge(state, hit, relevance) {
  judgments.judge(state, hit.id, relevance);
  showJudgments();
}

function showJudgments() {
  const summed = judgments.summary();
  at("judgments").hidden = summed === "";
  at("judged").textContent = summed;
}

function turn(pages) {
  if (!shown) return;
  shown.page += pages;
  show();
  at("results").scrollIntoView({ block: "start" });
}

// The first stage does not change with the sliders, but asking anew is one request and one path.
let pause = null;
function searchSoon() {
  address.showSliders(form);
  window.clearTimeout(pause);
  if (shown) pause = window.setTimeout(() => search({ page: shown.page }), SLIDER_PAUSE_MS);
}

function showExamples() {
  for (const offered of document.querySelectorAll(".examples")) {
    const index = form.elements.index?.value ?? offered.dataset.index;
    offered.hidden = offered.dataset.index !== index;
  }
}

function tryExample(button) {
  form.elements.query.value = button.textContent;
  address.choose(form, { language: button.dataset.language, target: button.dataset.target });
  search();
}

for (const button of document.querySelectorAll(".examples button")) {
  button.addEventListener("click", () => tryExample(button));
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  window.clearTimeout(pause);
  search();
});
form.addEventListener("input", (event) => {
  if (event.target.name !== "query") searchSoon();
  if (event.target.name === "index") showExamples();
});
form.elements.reset.addEventListener("click", () => {
  address.resetSliders(form);
  searchSoon();
});
at("previous").addEventListener("click", () => turn(-1));
at("next").addEventListener("click", () => turn(1));
at("close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close(); // its backdrop
});
dialog.addEventListener("close", () => {
  explaining?.abort();
  if (shown) address.writeAddress(shown.state, shown.page, null);
});
at("save-qrels").addEventListener("click", () => save(judgments.qrels(), "qrels.txt", "text/plain"));
at("save-queries").addEventListener("click", () => save(judgments.queryLines(), "queries.jsonl", "application/jsonl"));
at("forget").addEventListener("click", () => {
  judgments.forget();
  showJudgments();
  if (shown) show();
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLElement && event.target.matches("input[type=search], select");
  if (event.key === "/" && !isTyping && !dialog.open) {
    event.preventDefault();
    form.elements.query.focus();
  }
});
new ResizeObserver(() => {
  if (shown) drawMoves(at("moves"), at("before"), at("after"));
}).observe(at("columns"));

const linked = address.readAddress();
address.fillForm(form, linked.state);
showExamples();
showJudgments();
if (linked.state.query) search(linked);
