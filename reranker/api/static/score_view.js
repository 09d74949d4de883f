// Why a hit of any index is where it is: the parts of its score as bars, and its words near to the query's.
import { element, linkOrText, tableRow } from "./elements.js";
import { partsTable } from "./score_parts.js";

export function scoreView(hit, titleOf) {
  const made = element("div");
  made.append(element("p", `Score ${hit.score.toFixed(4)}; the engine had it at rank ${hit.first_stage_rank}.`, "sums"));
  if (hit.score_parts) made.append(partsTable(hit.score_parts, { sources: hit.score_sources, titleOf }));
  if (hit.matches) made.append(wordsTable(hit.matches));
  if (hit.url) {
    const source = element("p");
    source.append(linkOrText(hit.url, hit.url, "source"));
    made.append(source);
  }
  return made;
}

function wordsTable({ title, text }) {
  const nearest = new Map();
  for (const { query_word: query, word, likeness } of [...title, ...text]) {
    const key = `${query}\n${word}`.toLowerCase();
    const known = nearest.get(key);
    nearest.set(key, { query, word: word.toLowerCase(), likeness, n: (known?.n ?? 0) + 1 });
  }
  const table = element("table", undefined, "pairs");
  table.createCaption().textContent = "Words of the hit that are in the query, or similar to one of its words";
  tableRow(table.createTHead(), ["Query word", "Word of the hit", "Similarity", "Times"], "th");
  const body = table.createTBody();
  const rows = [...nearest.values()].sort((one, other) => one.query.localeCompare(other.query) || other.likeness - one.likeness);
  for (const { query, word, likeness, n } of rows) tableRow(body, [query, word, likeness.toFixed(2), String(n)]);
  if (rows.length === 0) tableRow(body, ["–", "none in the part of the text that was read", "", ""]);
  return table;
}
