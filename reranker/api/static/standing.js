// Why a document is not on the first page: where it fell, by how much, and which words of the query it lacks.
import { element, isolated, tableRow } from "./elements.js";
import { PARTS } from "./score_parts.js";

// Below this a part would be shown as 0.
const LEAST = 0.00005;

// `standing` of the explanation of such a document.
export function standingView(standing) {
  const made = element("div", undefined, "standing");
  made.append(element("p", [place(standing), distance(standing)].filter(Boolean).join(" ")));
  const lacking = lackingWords(standing);
  if (lacking) made.append(element("p", lacking));
  if (standing.score_behind > 0 && standing.parts_behind) made.append(partsTable(standing.parts_behind));
  return made;
}

function place({ fell_at: fell, rank, n_candidates: n, first_stage_rank: first }) {
  if (fell === "first_stage") return "The first stage does not find this document, so it is not re-ranked.";
  if (fell === "window") return `The first stage has it at rank ${first}, and only ${n} hits are re-ranked.`;
  return `It is at rank ${rank} of ${n}; before re-ranking it is at rank ${first}.`;
}

function distance({ score_behind: behind, rank }) {
  if (behind === null) return "";
  const last = "the last hit of the first page";
  if (rank !== null) return `Its score is ${behind.toFixed(4)} below that of ${last}.`;
  return behind > 0
    ? `Among the re-ranked hits its score would be ${behind.toFixed(4)} below that of ${last}.`
    : "Among the re-ranked hits it would be on the first page.";
}

function lackingWords({ lacking_query_words: words, near_words: near }) {
  if (words.length === 0) return "";
  const nearest = new Map(near.map(({ query_word: query, word }) => [query, word]));
  const told = words.map((word) => (nearest.has(word) ? `${isolated(word)} (nearest: ${isolated(nearest.get(word))})` : isolated(word)));
  return `Words of your query that it lacks: ${told.join(", ")}.`;
}

function partsTable(parts) {
  const table = element("table", undefined, "pairs");
  table.createCaption().textContent = "What the last hit of the first page has more of (− less)";
  tableRow(table.createTHead(), ["Part", "Score"], "th");
  const body = table.createTBody();
  for (const [name, label] of Object.entries(PARTS)) {
    if (Math.abs(parts[name] ?? 0) >= LEAST) tableRow(body, [label, parts[name].toFixed(4).replace("-", "−")]);
  }
  return table;
}
