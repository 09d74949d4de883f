"use strict";
// Text from documents and the service enters the page through textContent alone, links through a check of their scheme.

const SNIPPET_CHARS = 280;
const PAGE_SIZE = 10;
// What one word pair does to a rank is seen in the largest few.
const MAX_PAIRS = 12;

const form = document.getElementById("search");
const statusLine = document.getElementById("status");
const results = document.getElementById("results");
const rows = results.querySelector("tbody");
const pages = document.getElementById("pages");
const previous = document.getElementById("previous");
const next = document.getElementById("next");

let asked = null; // the request whose answer is shown
let running = null; // aborts the request under way

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function say(text, isWrong = false) {
  statusLine.textContent = text;
  statusLine.classList.toggle("wrong", isWrong);
}

async function post(path, body, signal) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The service does not answer. Is it still running? Start it with: sinkrank serve");
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Error(answer?.detail ?? `The service answered ${response.status}.`);
  return answer;
}

function readForm() {
  const values = new FormData(form);
  const body = { query: values.get("query").trim(), size: PAGE_SIZE, from: 0 };
  for (const name of ["language", "method", "first_stage", "index"]) {
    if (values.get(name)) body[name] = values.get(name);
  }
  if (values.get("target")) body.languages = [values.get("target")];
  return body;
}

async function search(body) {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  say("Searching …");
  results.setAttribute("aria-busy", "true");
  try {
    const answer = await post("/v1/search", body, signal);
    asked = body;
    show(answer, body);
  } catch (error) {
    if (error.name === "AbortError") return;
    results.hidden = pages.hidden = true;
    say(error.message, true);
  } finally {
    if (running?.signal === signal) results.removeAttribute("aria-busy");
  }
}

function show(answer, body) {
  rows.replaceChildren(...answer.hits.map((hit) => row(hit, body, answer.method)));
  results.hidden = answer.hits.length === 0;
  pages.hidden = body.from === 0 && answer.hits.length < PAGE_SIZE;
  previous.disabled = body.from === 0;
  next.disabled = answer.hits.length < PAGE_SIZE;
  say(summary(answer, body));
}

function summary(answer, body) {
  if (answer.hits.length === 0) {
    return body.from > 0
      ? "No more documents."
      : "No document found. Try other words, another first stage, or all languages.";
  }
  const parts = [
    `${answer.n_candidates} candidates by ${answer.first_stage}`,
    `re-ranked by ${answer.method}`,
    `query read as ${answer.language}`,
    `${Math.round(answer.took_ms.total)} ms`,
  ];
  if (answer.unknown_words.length > 0) parts.push(`unknown: ${answer.unknown_words.join(", ")}`);
  return parts.join(" · ");
}

function rank(number, score, className, mark) {
  const cell = element("td", undefined, "rank");
  cell.append(element("b", String(number)));
  if (mark) cell.append(" ", element("span", mark, className));
  cell.append(element("small", score.toFixed(4)));
  return cell;
}

function row(hit, body, method) {
  const made = element("tr");
  const risen = hit.first_stage_rank - hit.rank;
  const mark = risen > 0 ? `▲ ${risen}` : risen < 0 ? `▼ ${-risen}` : "";
  made.append(
    rank(hit.rank, hit.score, risen > 0 ? "up" : "down", mark),
    rank(hit.first_stage_rank, hit.first_stage_score),
    documentCell(hit, body, method),
  );
  return made;
}

function documentCell(hit, body, method) {
  const cell = element("td");
  const name = hit.title || hit.id;
  const isLink = /^https?:\/\//i.test(hit.url);
  const title = element(isLink ? "a" : "span", name, "title");
  if (isLink) {
    title.href = hit.url;
    title.rel = "noopener noreferrer";
  }
  const text = hit.text.length > SNIPPET_CHARS ? `${hit.text.slice(0, SNIPPET_CHARS)} …` : hit.text;
  const snippet = element("p", text, "snippet");
  snippet.lang = title.lang = hit.language;
  cell.append(title, element("span", hit.language, "code"), snippet);
  if (hit.distance !== null && method !== "none") cell.append(explainButton(hit, body));
  return cell;
}

function explainButton(hit, body) {
  const holder = element("div");
  const button = element("button", "Why?", "why");
  button.type = "button";
  button.setAttribute("aria-expanded", "false");
  button.setAttribute("aria-label", `Why is ${hit.title || hit.id} here?`);
  let shown = null;
  button.addEventListener("click", async () => {
    if (shown) {
      shown.hidden = !shown.hidden;
      button.setAttribute("aria-expanded", String(!shown.hidden));
      return;
    }
    button.disabled = true;
    try {
      const { query, index, language, method } = body;
      shown = pairsTable(await post("/v1/explain", { query, id: hit.id, index, language, method }));
      holder.append(shown);
      button.setAttribute("aria-expanded", "true");
    } catch (error) {
      say(error.message, true);
    } finally {
      button.disabled = false;
      button.focus();
    }
  });
  holder.append(button);
  return holder;
}

function pairsTable(explanation) {
  const table = element("table", undefined, "pairs");
  const head = table.createTHead().insertRow();
  for (const name of ["Query word", "Document word", "Mass", "Cost", "Share"]) {
    const cell = element("th", name);
    cell.scope = "col";
    head.append(cell);
  }
  const pairs = explanation.words.flatMap((word) => word.pairs);
  pairs.sort((left, right) => right.mass - left.mass);
  const body = table.createTBody();
  const shown = pairs.slice(0, MAX_PAIRS);
  for (const pair of shown) {
    addRow(body, [pair.query_word, pair.document_word, pair.mass.toFixed(3), pair.cost.toFixed(3), percent(pair.share)]);
  }
  const mass = 1 - shown.reduce((sum, pair) => sum + pair.mass, 0);
  const share = 1 - shown.reduce((sum, pair) => sum + pair.share, 0);
  if (mass > 0.0005 && explanation.distance > 0) addRow(body, ["the rest", "", mass.toFixed(3), "", percent(share)]);
  addRow(body, [`distance ${explanation.distance.toFixed(4)} (${explanation.method})`, "", "1.000", "", "100 %"]);
  const { words, lacking_words: lacking, hubness } = explanation.order_parts;
  if (lacking + hubness > 0) {
    const sum = `${words.toFixed(4)} words + ${lacking.toFixed(4)} missing words + ${hubness.toFixed(4)} hubness`;
    addRow(body, [`in order by ${explanation.order_distance.toFixed(4)}`, sum, "", "", ""]);
  }
  return table;
}

function addRow(body, texts) {
  const made = body.insertRow();
  for (const text of texts) made.insertCell().textContent = text;
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

function turn(pagesOn) {
  if (asked) search({ ...asked, from: Math.max(0, asked.from + pagesOn * PAGE_SIZE) });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const body = readForm();
  if (body.query) search(body);
  else say("Type at least one word.", true);
});
previous.addEventListener("click", () => turn(-1));
next.addEventListener("click", () => turn(1));
