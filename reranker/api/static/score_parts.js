// The parts of a score as bars, each with what it comes from: words of the hit, other hits.
import { element, percent, tableRow } from "./elements.js";

// In the order in which they are shown.
const PARTS = {
  first_stage: "The engine’s own score",
  words: "Words similar to those of the query",
  feedback: "Words typical of the best hits",
  neighbours: "Similar hits that score well",
  encoder: "Meaning of the query as a whole (sentence encoder)",
  lacking_words: "Taken off: it lacks words of the query that have no embedding",
  hubness: "Taken off: it is similar to almost every query",
  window: "Base value, the same for every hit",
};

// `sources`: null where they are not known. `titleOf`: of the hit with an id, or the id.
export function partsTable(parts, { sources, lackingWords = [], titleOf }) {
  const table = element("table", undefined, "pairs parts");
  table.createCaption().textContent = "The score is the sum of";
  tableRow(table.createTHead(), ["Part", "Score", "Size"], "th");
  const body = table.createTBody();
  for (const [name, label] of Object.entries(PARTS)) {
    if (!parts[name]) continue;
    const named = name === "lacking_words" && lackingWords.length > 0 ? ` (${lackingWords.join(", ")})` : "";
    tableRow(body, [label + named, parts[name].toFixed(4).replace("-", "−")]);
    const bar = element("meter");
    Object.assign(bar, { min: 0, max: 1, value: Math.abs(parts[name]) });
    bar.setAttribute("aria-label", label);
    body.lastChild.insertCell().append(bar);
    if (sources?.[name]) sourcesRow(body, ...SOURCES[name](sources[name], titleOf));
  }
  return table;
}

// What to list of the source of a part: a sentence, and texts.
const SOURCES = {
  encoder: ({ words, other_words: others, window_offset: offset, exact_match: exact }) => [
    "What the words of the hit add:",
    [
      ...words.map(({ word, part }) => `${word} ${signed(part)}`),
      others && `its other words ${signed(others)}`,
      offset && `less what the hit least like the query has ${signed(offset)}`,
      exact && `a field is the query word for word ${signed(exact)}`,
    ],
  ],
  feedback: ({ words, documents }, titleOf) => [
    "Words that the best hits added to the query, and those hits:",
    [...words.map(({ word, weight }) => `${word} ${percent(weight)}`), ...shares(documents, titleOf)],
  ],
  neighbours: ({ documents }, titleOf) => ["The hits that it resembles:", shares(documents, titleOf)],
};

function shares(documents, titleOf) {
  return documents.map(({ id, share }) => `“${titleOf(id)}” ${percent(share)}`);
}

function signed(part) {
  return `${part < 0 ? "−" : "+"}${Math.abs(part).toFixed(4)}`;
}

function sourcesRow(body, text, found) {
  const row = body.insertRow();
  row.className = "sources";
  const cell = row.insertCell();
  cell.colSpan = 3;
  const list = element("ul");
  list.append(...found.filter(Boolean).map((each) => element("li", each)));
  cell.append(text, list);
}
