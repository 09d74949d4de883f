// The parts of a score as bars, each with what it comes from: words of the hit, other hits.
import { element, isolated, percent, tableRow } from "./elements.js";

// In the order in which they are shown.
export const PARTS = {
  first_stage: "The engine’s own score",
  coverage: "Words of the query that it contains",
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
    const named = name === "lacking_words" && lackingWords.length > 0 ? ` (${lackingWords.map(isolated).join(", ")})` : "";
    tableRow(body, [label + named, parts[name].toFixed(4).replace("-", "−")]);
    const bar = element("meter");
    Object.assign(bar, { min: 0, max: 1, value: Math.abs(parts[name]) });
    bar.setAttribute("aria-label", label);
    body.lastChild.insertCell().append(bar);
    if (sources?.[name]) sourcesRow(body, SOURCES[name](sources[name], titleOf));
  }
  return table;
}

// What the source of a part is, as lists: each a sentence, and pairs of a text and its figure.
const SOURCES = {
  encoder: ({ words, other_words: others, window_offset: offset, exact_match: exact }) => [
    [
      "What the words of the hit add:",
      [
        ...words.map(({ word, part }) => [word, signed(part)]),
        ["its other words", signed(others)],
        ["counted from the hit least like the query", signed(offset)],
        ...(exact ? [["one of its fields is the query", signed(exact)]] : []),
      ],
    ],
  ],
  feedback: ({ words, documents }, titleOf) => [
    ["Words that the best hits add to the query, with their share in it:", words.map(({ word, weight }) => [word, percent(weight)])],
    ["These words come from:", shares(documents, titleOf)],
  ],
  neighbours: ({ documents }, titleOf) => [["The hits that it resembles most:", shares(documents, titleOf)]],
};

function shares(documents, titleOf) {
  return documents.map(({ id, share }) => [`“${isolated(titleOf(id))}”`, percent(share)]);
}

function signed(part) {
  return `${part < 0 ? "−" : "+"}${Math.abs(part).toFixed(4)}`;
}

function sourcesRow(body, found) {
  const lists = found.filter(([, pairs]) => pairs.length > 0);
  if (lists.length === 0) return;
  const row = body.insertRow();
  row.className = "sources";
  const cell = row.insertCell();
  cell.colSpan = 3;
  for (const [sentence, pairs] of lists) {
    const list = element("ul");
    for (const [text, figure] of pairs) {
      const item = element("li");
      item.append(element("bdi", text), ` ${figure}`);
      list.append(item);
    }
    cell.append(sentence, list);
  }
}
