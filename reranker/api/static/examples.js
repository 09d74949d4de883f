// Queries to try on an index: those of the service for one of ours; otherwise titles of documents, or how their texts
// begin, those for which the first pages of the two orders differ most.
import { button, element } from "./elements.js";
import { strings, valueAt } from "./engine_search.js";
import { titleField } from "./fields.js";
import { ask, post } from "./service.js";

const N_EXAMPLES = 5;
const N_READ = 60;
const N_SEARCHED = 16;
const PAGE_SIZE = 10;
// After this time no search of an index of ours is begun, and the examples are shown.
const MOST_MS = 2000;
const MAX_CHARS = 80;
// A title of one word is no query to learn from, and one of many does not fit on a button.
const [LEAST_WORDS, MOST_WORDS] = [2, 8];
const FIRST_WORDS = 5;

// [{ query, language, target }]; of an index of ours.
export const serviceExamples = (index) => remembered(index, async () => {
  const { examples } = (await ask("GET", `/-/ui/examples?index=${encodeURIComponent(index)}`)).body;
  if (examples.length <= N_EXAMPLES) return examples;
  const ranks = [];
  const end = performance.now() + MOST_MS;
  // One after another, so that the reader's own searches need not wait for them.
  for (const example of examples) ranks.push(performance.now() < end ? await firstPage(index, example) : []);
  return mostDifferentFirst(examples, ranks);
});

// The same of another index; `fields` are those of text.
export const engineExamples = (index, fields) => remembered(index, async () => {
  const queries = await readQueries(index, fields);
  const ranks = queries.length === 0 ? [] : await firstPages(index, fields, queries);
  return mostDifferentFirst(queries.map((query) => ({ query })), ranks);
});

// They are kept as long as the tab is open; none are asked for again.
async function remembered(index, find) {
  const key = `examples ${index}`;
  const kept = window.sessionStorage.getItem(key);
  if (kept) return JSON.parse(kept);
  const found = (await find()).slice(0, N_EXAMPLES);
  if (found.length > 0) window.sessionStorage.setItem(key, JSON.stringify(found));
  return found;
}

async function readQueries(index, fields) {
  const field = titleField(fields) ?? fields[0];
  if (field === undefined) return [];
  const query = { function_score: { random_score: {} } };
  const search = { size: N_READ, query, _source: [field, field.split(".")[0]], track_total_hits: false, timeout: "2s" };
  const { body } = await ask("POST", `/${encodeURIComponent(index)}/_search?rerank=false`, search);
  const texts = body.hits.hits.map((hit) => strings(valueAt(hit._source ?? {}, field)).join(" "));
  return chooseQueries(texts, titleField([field]) !== undefined).slice(0, N_SEARCHED);
}

export function chooseQueries(texts, areTitles) {
  const found = new Map();
  for (const text of texts) {
    const words = text.split(/\s+/).filter(Boolean);
    const query = (areTitles ? words : words.slice(0, FIRST_WORDS)).join(" ");
    const isFit = words.length >= LEAST_WORDS && (!areTitles || words.length <= MOST_WORDS) && query.length <= MAX_CHARS;
    if (isFit && !found.has(query.toLowerCase())) found.set(query.toLowerCase(), query);
  }
  return [...found.values()];
}

// The engine's ranks of the hits, in their new order; none where the search fails.
async function firstPage(index, { query, language }) {
  try {
    const { hits } = await post("/v1/search", { query, index, language: language || null, size: PAGE_SIZE });
    return hits.map((hit) => hit.first_stage_rank);
  } catch {
    return [];
  }
}

// The same of several queries.
async function firstPages(index, fields, queries) {
  const search = (query) => ({ query: { multi_match: { query, fields } }, _source: false, ext: { rerank: { details: true } } });
  const lines = queries.flatMap((query) => [{}, search(query)]).map((line) => `${JSON.stringify(line)}\n`);
  const { responses } = await post(`/${encodeURIComponent(index)}/_msearch`, lines.join(""));
  return responses.map(({ hits }) => (hits?.hits ?? []).map((hit, i) => hit._rerank?.first_stage_rank ?? i + 1));
}

function mostDifferentFirst(examples, ranks) {
  const differences = new Map(examples.map((example, i) => [example, difference(ranks[i])]));
  return examples.toSorted((one, other) => differences.get(other) - differences.get(one));
}

// How much a page differs from the engine's, 0 to 1: 1 - the average overlap (Webber, Moffat and Zobel 2010), the mean, over
// each depth d, of the share that the first d hits of both orders have in common. `ranks`: as of `firstPage`, from 1.
export function difference(ranks) {
  const later = ranks.map((rank, i) => Math.max(rank, i + 1));
  const overlaps = ranks.map((_, i) => later.filter((rank) => rank <= i + 1).length / (i + 1));
  return ranks.length === 0 ? 0 : 1 - overlaps.reduce((sum, overlap) => sum + overlap, 0) / ranks.length;
}

export function showExamples(line, examples, onTry) {
  const made = examples.map((example) => {
    const tried = button(example.query, "small", () => onTry(example));
    if (example.language) tried.lang = example.language;
    tried.dir = "auto";
    return tried;
  });
  line.replaceChildren(element("span", "Try:"), ...made);
  line.hidden = made.length === 0;
}
