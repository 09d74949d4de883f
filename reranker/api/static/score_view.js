// Why a hit of any index is where it is: the parts of its score as bars, and its words near to the query's.
import { element, linkOrText, tableRow } from "./elements.js";

const PARTS = {
  first_stage: "The engine’s own score",
  words: "Words near to the query’s",
  feedback: "Words of the best hits",
  neighbours: "Hits that it resembles",
  encoder: "The query as a whole, by the sentence encoder",
  lacking_words: "Unknown words that it lacks",
  hubness: "Taken off: it is near to every query",
  window: "What every hit has",
};

export function scoreView(hit) {
  const made = element("div");
  made.append(element("p", `Score ${hit.score.toFixed(4)}; the engine had it at rank ${hit.first_stage_rank}.`, "sums"));
  if (hit.score_parts) made.append(partsTable(hit.score_parts));
  if (hit.matches) made.append(wordsTable(hit.matches));
  if (hit.url) {
    const source = element("p");
    source.append(linkOrText(hit.url, hit.url, "source"));
    made.append(source);
  }
  return made;
}

function partsTable(parts) {
  const table = element("table", undefined, "pairs parts");
  table.createCaption().textContent = "What the score is the sum of";
  tableRow(table.createTHead(), ["Part", "Score", "Size"], "th");
  const body = table.createTBody();
  for (const [name, label] of Object.entries(PARTS)) {
    if (!parts[name]) continue;
    tableRow(body, [label, parts[name].toFixed(4)]);
    const bar = element("meter");
    Object.assign(bar, { min: 0, max: 1, value: Math.abs(parts[name]) });
    bar.setAttribute("aria-label", label);
    body.lastChild.insertCell().append(bar);
  }
  return table;
}

function wordsTable({ title, text }) {
  const nearest = new Map();
  for (const { query_word: query, word, likeness } of [...title, ...text]) {
    const key = `${query}\n${word}`.toLowerCase();
    const known = nearest.get(key);
    nearest.set(key, { query, word: word.toLowerCase(), likeness, n: (known?.n ?? 0) + 1 });
  }
  const table = element("table", undefined, "pairs");
  table.createCaption().textContent = "Its words that are the query’s, or near to them";
  tableRow(table.createTHead(), ["Query word", "Word of the hit", "Likeness, up to 1", "Times"], "th");
  const body = table.createTBody();
  const rows = [...nearest.values()].sort((one, other) => one.query.localeCompare(other.query) || other.likeness - one.likeness);
  for (const { query, word, likeness, n } of rows) tableRow(body, [query, word, likeness.toFixed(2), String(n)]);
  if (rows.length === 0) tableRow(body, ["–", "none in the part of the text that was read", "", ""]);
  return table;
}
