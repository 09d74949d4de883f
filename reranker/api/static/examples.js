// Queries to try on an index that is not ours: titles of its documents, or how their texts begin.
import { button, element } from "./elements.js";
import { strings, valueAt } from "./engine_search.js";
import { titleField } from "./fields.js";
import { ask } from "./service.js";

const N_EXAMPLES = 5;
const N_READ = 50;
const MAX_CHARS = 80;
// A title of one word is no query to learn from, and one of many does not fit on a button.
const [LEAST_WORDS, MOST_WORDS] = [2, 8];
const FIRST_WORDS = 5;

export async function readExamples(index, fields, signal) {
  const field = titleField(fields) ?? fields[0];
  if (field === undefined) return [];
  const search = { size: N_READ, query: { match_all: {} }, _source: [field, field.split(".")[0]] };
  const { body } = await ask("POST", `/${encodeURIComponent(index)}/_search?rerank=false`, search, signal);
  const texts = body.hits.hits.map((hit) => strings(valueAt(hit._source ?? {}, field)).join(" "));
  return chooseExamples(texts, titleField([field]) !== undefined);
}

export function chooseExamples(texts, areTitles) {
  const found = new Map();
  for (const text of texts) {
    const words = text.split(/\s+/).filter(Boolean);
    const query = (areTitles ? words : words.slice(0, FIRST_WORDS)).join(" ");
    const isFit = words.length >= LEAST_WORDS && (!areTitles || words.length <= MOST_WORDS) && query.length <= MAX_CHARS;
    if (isFit && !found.has(query.toLowerCase())) found.set(query.toLowerCase(), query);
  }
  return [...found.values()].slice(0, N_EXAMPLES);
}

// A line of them, as the service makes for indices of ours.
export function exampleLine(index, queries, onTry) {
  const made = element("p", undefined, "examples");
  made.dataset.index = index;
  made.append(element("span", "Try:"), ...queries.map((query) => button(query, "small", (event) => onTry(event.target))));
  return made;
}
