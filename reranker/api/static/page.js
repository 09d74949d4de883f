// Ties the page together: the form, the search, the two columns, the explanation, one's own queries.
import { element, isolated } from "./elements.js";
import { explanationView } from "./explanation.js";
import { IndexChoice } from "./index_choice.js";
import { ListPage } from "./list_page.js";
import { addMatches } from "./matches.js";
import { explainBody as explainEngineBody } from "./engine_search.js";
import { drawMoves } from "./moves.js";
import { QueryList } from "./query_list.js";
import { afterItem, beforeItem, pageOf, showText } from "./results.js";
import { scoreView } from "./score_view.js";
import { languageName, searchIndex } from "./search.js";
import { post } from "./service.js";
import * as address from "./state.js";

const PAGE_SIZE = 10;
const SLIDER_PAUSE_MS = 150;
const UNKNOWN_WORDS = 422;

const at = (id) => document.getElementById(id);
const form = at("search");
const dialog = at("why");
const choice = new IndexChoice(form, tryExample, changeIndex);
const list = new QueryList();
const listPage = new ListPage(list, {
  state: () => readState(),
  run: async (state, signal) => (await searchIndex(state, choice.isOurs, signal)).hits,
  open: openEntry,
  redraw: () => listPage.show(shown?.state ?? null),
});

let shown = null; // { state, answer, page }: what is on the page
let running = null; // aborts the search under way; null before the first one
let explaining = null; // and the explanation

function readState() {
  return address.readForm(form, choice.chosen());
}

function say(text, isWrong = false) {
  at("status").textContent = text;
  at("status").classList.toggle("wrong", isWrong);
}

async function search({ page = 1, hit = null } = {}) {
  const state = readState();
  if (!state.query) {
    say("Type at least one word.", true);
    return;
  }
  if (!state.index) return; // what is said tells why there is none
  running?.abort();
  const mine = new AbortController();
  running = mine;
  say("Searching …");
  at("results").setAttribute("aria-busy", "true");
  try {
    const answer = await searchIndex(state, choice.isOurs, mine.signal);
    const lastPage = Math.max(1, Math.ceil(answer.hits.length / PAGE_SIZE));
    shown = { state, answer, page: Math.min(page, lastPage), signal: mine.signal };
    const entry = list.of(state);
    if (entry) listPage.record(entry, state, answer.hits);
    show();
    if (hit !== null && answer.isReranked) explain(hitOf(hit));
  } catch (error) {
    if (error.name === "AbortError") return;
    shown = null;
    listPage.show(null);
    at("results").hidden = true;
    address.writeAddress(state, page, null);
    advise(error.status === UNKNOWN_WORDS ? state : null);
    say(error.message, true);
  } finally {
    if (running === mine) at("results").removeAttribute("aria-busy");
  }
}

function show() {
  const { state, answer, page } = shown;
  const { before, after } = pageOf(answer.hits, page, PAGE_SIZE);
  const shared = (hit) => ({ judgment: list.of(state)?.documents[hit.key], onJudge: (found, relevance) => judge(state, found, relevance) });
  const options = { onWhy: explain, isReranked: answer.isReranked, hasLanguages: inSeveralLanguages(answer.hits) };
  at("before").replaceChildren(...before.map((hit) => beforeItem(hit, shared(hit))));
  at("after").replaceChildren(...after.map((hit) => afterItem(hit, { ...shared(hit), ...options })));
  const isEmpty = answer.hits.length === 0;
  for (const name of document.querySelectorAll(".before-name")) name.textContent = answer.isOurs ? "Before re-ranking" : "The engine’s order";
  at("share-note").hidden = !answer.isReranked || form.elements.share.disabled || isEmpty || answer.hits.some((hit) => hit.score_parts);
  at("before").start = at("after").start = (page - 1) * PAGE_SIZE + 1;
  at("results").hidden = isEmpty;
  advise(isEmpty ? state : null);
  at("why-not").hidden = !answer.isReranked;
  at("pages").hidden = answer.hits.length <= PAGE_SIZE;
  at("previous").disabled = page === 1;
  at("next").disabled = page * PAGE_SIZE >= answer.hits.length;
  address.writeAddress(state, page, null);
  say(isEmpty ? "No document found." : [...answer.says, ...(page > 1 ? [`page ${page}`] : [])].join(" · "));
  listPage.show(state);
  drawMoves(at("moves"), at("before"), at("after"));
  markMatches(after);
}

// The hits stand there before their marks do.
async function markMatches(hits) {
  const { state, answer, signal } = shown;
  await addMatches(state.query, answer.language, hits, signal).catch(() => {});
  for (const made of at("after").children) {
    const hit = hits.find(({ key }) => key === made.dataset.id);
    if (hit?.matches) showText(made, hit, inSeveralLanguages(answer.hits));
  }
  drawMoves(at("moves"), at("before"), at("after"));
}

function inSeveralLanguages(hits) {
  return new Set(hits.map((hit) => hit.language).filter(Boolean)).size > 1;
}

// What to try where nothing is found.
function advise(state) {
  at("advice").hidden = state === null;
  if (state === null) return;
  const advice = ["Try fewer or other words, and check their spelling."];
  if (state.target) advice.push("Look in documents of all languages (Options: Documents in).");
  if (choice.hasMoreFields) advice.push("Tick more fields (Options: Fields to search).");
  if (!choice.isOurs) {
    advice.push("Are the documents in another language than your query? Choose that language (Options: Documents in).");
  } else if (state.first_stage === "bm25") advice.push("Find documents by meaning too (Options: Expert settings, First stage: hybrid).");
  if (!state.language) advice.push("Is the query in a language that the embeddings lack? Add it with sinkrank embeddings prepare … --queries-in CODE --replace.");
  at("advice").replaceChildren(...advice.map((text) => element("li", text)));
}

// The hit with a key or an id; a document that is no hit is known by its id alone.
function hitOf(id) {
  const { hits } = shown.answer;
  return hits.find((hit) => hit.key === id) ?? hits.find((hit) => hit.id === id) ?? { id };
}

async function explain(hit) {
  explaining?.abort();
  const mine = new AbortController();
  explaining = mine;
  at("why-name").textContent = hit.rank ? `${hit.rank}. ${isolated(hit.title || hit.id)}` : hit.id;
  at("why-name").lang = hit.language ?? "";
  at("why-body").replaceChildren(element("p", "Taking the score apart …"));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  address.writeAddress(shown.state, shown.page, hit.key ?? hit.id);
  try {
    at("why-body").replaceChildren(await explanationOf(hit, mine.signal));
  } catch (error) {
    if (error.name !== "AbortError") at("why-body").replaceChildren(element("p", error.message, "wrong"));
  }
}

async function explanationOf(hit, signal) {
  const { state, answer } = shown;
  const titleOf = (id) => {
    const found = answer.hits.filter((other) => other.id === id);
    return (found.length === 1 && found[0].title) || id; // in several indices: one of them is meant, but not which
  };
  // Of hits of several indices an id does not say which one is meant.
  if (answer.isOurs || !hit.rank || (hit.rank > PAGE_SIZE && hit.key === hit.id)) {
    const body = answer.isOurs ? address.explainBody(state, hit.id) : explainEngineBody(state, hit.id);
    const explanation = await post("/v1/explain", body, signal);
    return explanationView(explanation, at("why-body").clientWidth, titleOf);
  }
  await addMatches(state.query, answer.language, [hit], signal);
  return scoreView(hit, titleOf);
}

function judge(state, hit, relevance) {
  list.judge(state, hit.key, relevance);
  const entry = list.of(state);
  if (entry && shown.state === state) listPage.record(entry, state, shown.answer.hits);
  listPage.show(state);
}

async function openEntry(entry) {
  form.elements.query.value = entry.query;
  for (const name of ["language", "target"]) {
    const field = form.elements[name];
    field.value = entry[name];
    if (field.value !== entry[name]) field.append(new Option(entry[name], entry[name], true, true)); // no embeddings
  }
  const isInTable = at("query-rows").contains(document.activeElement);
  await search();
  form.scrollIntoView({ block: "start" });
  if (isInTable) at("after-name").focus({ preventScroll: true }); // the table is made anew
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
  if (running) pause = window.setTimeout(() => search({ page: shown?.page }), SLIDER_PAUSE_MS);
  else listPage.show(null);
}

async function changeIndex() {
  listPage.stop();
  await choice.changed();
  if (form.elements.query.value.trim() && running) search();
  else listPage.show(null);
}

function tryExample({ query, language = "", target = "" }) {
  form.elements.query.value = query;
  address.choose(form, { language, target });
  search();
}

function nameLanguages() {
  for (const option of document.querySelectorAll("select[name=language] option, select[name=target] option")) {
    if (option.value) option.textContent = `${languageName(option.value)} (${option.value})`;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  window.clearTimeout(pause);
  search();
});
document.addEventListener("input", ({ target }) => {
  if (target.name === "index") changeIndex();
  else if (target.closest("#options") && !target.matches("[type=number]:invalid")) {
    if (target.name === "share") target.classList.remove("unset");
    searchSoon();
  }
});
form.elements.reset.addEventListener("click", () => {
  address.resetSliders(form);
  searchSoon();
});
at("why-not").addEventListener("submit", (event) => {
  event.preventDefault();
  const id = at("why-not").elements.id.value.trim();
  if (id) explain(hitOf(id));
});
at("previous").addEventListener("click", () => turn(-1));
at("next").addEventListener("click", () => turn(1));
at("close").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => {
  if (dialog.open) return; // the event comes late: the next explanation is under way
  explaining?.abort();
  if (shown) address.writeAddress(shown.state, shown.page, null);
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
  if (event.key === "/" && !isTyping && !dialog.open) {
    event.preventDefault();
    form.elements.query.focus();
  }
});
window.addEventListener("popstate", () => window.location.reload());
new ResizeObserver(() => {
  if (shown) drawMoves(at("moves"), at("before"), at("after"));
}).observe(at("columns"));

async function start() {
  const linked = address.readAddress();
  nameLanguages();
  address.fillForm(form, linked.state);
  await choice.start(linked.state.index);
  address.choose(form, linked.state);
  await choice.changed((linked.state.fields ?? "").split(",").filter(Boolean));
  listPage.show(null);
  if (linked.state.query) search(linked);
}

start();
