// Searches any index of the engine through the proxy, with the rights of whoever looks at the page.
import { isolated } from "./elements.js";
import { titleField } from "./fields.js";
import { ask } from "./service.js";
import { orderOptions } from "./state.js";

const MAX_TEXT_CHARS = 20000;
const FRAGMENT_CHARS = 200;
const N_FRAGMENTS = 3;
// Characters for private use: no text has them.
const [MARK_START, MARK_END] = ["\ue000", "\ue001"];
const MARKED = new RegExp(`${MARK_START}([^${MARK_END}]{1,100})${MARK_END}`, "g");
const MAX_WORDS_SHOWN = 8;
const N_TRANSLATIONS_SHOWN = 3;
const URL_NAMES = ["url", "link", "uri", "href"];

export const NO_GOOD_ANSWER = "probably no hit answers this";

// Why the engine's order stays, by the proxy's reason.
const REASONS = {
  unknown_words: "no word of the query is known, so the engine’s order stays",
  out_of_time: "re-ranking took too long, so the engine’s order stays",
  busy: "the service is busy, so the engine’s order stays; search again",
  breaker_open: "re-ranking failed several times and is paused, so the engine’s order stays",
  no_text_in_hits: "no hit has a known word, so the engine’s order stays",
  method_none: "not re-ranked",
  shadow: "the proxy runs in shadow mode, so the engine’s order stays",
  no_embeddings: "there are no embeddings yet, so the engine’s order stays",
};

export async function searchEngine(state, signal) {
  const path = `/${encodeURIComponent(state.index)}/_search`;
  const fields = fieldsOf(state);
  const { body: answer, headers } = await askWithHighlight(path, searchBody(state, fields), signal);
  const names = fields.map((field) => field.split("^")[0]);
  const isOfSeveral = new Set(answer.hits.hits.map((hit) => hit._index)).size > 1;
  const hits = answer.hits.hits.map((hit, i) => readHit(hit, i + 1, names, isOfSeveral));
  const isReranked = headers.get("X-Rerank-Status") === "applied";
  return { hits, isReranked, language: state.language, says: summary(answer, hits, headers, state) };
}

function searchBody(state, fields) {
  const query = { multi_match: { query: state.query, ...(fields.length > 0 && { fields }) } };
  const depth = Number(state.depth);
  // Words near to the query's are marked by themselves, and in another way.
  const rerank = { ...orderOptions(state), window_size: depth, details: true, highlight: "engine" };
  if (state.target) rerank.languages = [state.target];
  return { query, size: depth, ext: { rerank } };
}

export function explainBody(state, id) {
  return { index: state.index, id, search: searchBody(state, fieldsOf(state)) };
}

function fieldsOf(state) {
  return (state.fields ?? "").split(",").filter(Boolean);
}

// A text that is too long to highlight fails its shard, or the whole search: it is asked for again without.
async function askWithHighlight(path, body, signal) {
  const settings = { pre_tags: [MARK_START], post_tags: [MARK_END], fragment_size: FRAGMENT_CHARS, number_of_fragments: N_FRAGMENTS };
  const highlight = { ...settings, require_field_match: false, fields: highlighted(body) };
  let found;
  try {
    found = await ask("POST", path, { ...body, highlight }, signal);
    if (failedShards(found) === 0) return found;
  } catch (error) {
    if (error.status !== 400 && error.status !== 500) throw error;
  }
  const again = await ask("POST", path, body, signal);
  return found && failedShards(found) <= failedShards(again) ? found : again;
}

function failedShards({ body }) {
  return body._shards?.failed ?? 0;
}

function highlighted({ query }) {
  const names = (query.multi_match.fields ?? ["*"]).map((field) => field.split("^")[0]);
  return Object.fromEntries(names.map((name) => [name, {}]));
}

// An alias may find documents with one id in several indices.
function readHit(hit, place, fields, isOfSeveral) {
  const source = hit._source ?? {};
  const details = hit._rerank ?? {};
  const named = titleField(Object.keys(source)) ?? titleField(fields);
  const title = named === undefined ? "" : strings(valueAt(source, named)).join(" ");
  const texts = fields.length > 0 ? fields.filter((name) => name !== named).map((name) => valueAt(source, name)) : [source];
  const url = URL_NAMES.map((name) => source[name]).find((value) => typeof value === "string") ?? "";
  return {
    id: hit._id,
    key: isOfSeveral ? `${hit._index}/${hit._id}` : hit._id,
    title,
    url,
    language: "",
    text: [...new Set(texts.flatMap(strings))].join("\n").slice(0, MAX_TEXT_CHARS),
    score: hit._score ?? 0,
    rank: details.rank ?? place,
    first_stage_rank: details.first_stage_rank ?? place,
    first_stage_score: details.first_stage_score ?? hit._score ?? 0,
    score_parts: details.score_parts ?? null,
    score_sources: details.score_sources ?? null,
    relevance: details.relevance ?? undefined,
    without_known_word: details.without_known_word ?? false,
    isTranslated: details.translations !== undefined,
    highlighted: new Set(Object.values(hit.highlight ?? {}).flatMap((parts) => parts.flatMap(markedWords))),
  };
}

function markedWords(fragment) {
  return [...fragment.matchAll(MARKED)].map((found) => found[1].toLowerCase());
}

// "a.b" of a source, where the key itself may have dots; lists are passed through.
export function valueAt(source, name) {
  if (Array.isArray(source)) return source.map((each) => valueAt(each, name));
  if (source === null || typeof source !== "object") return undefined;
  if (name in source) return source[name];
  for (let at = name.indexOf("."); at > 0; at = name.indexOf(".", at + 1)) {
    const found = valueAt(source[name.slice(0, at)], name.slice(at + 1));
    if (found !== undefined) return found;
    // `title.english` is another reading of `title`.
    if (typeof source[name.slice(0, at)] === "string") return source[name.slice(0, at)];
  }
  return undefined;
}

export function strings(value) {
  if (typeof value === "string") return value.trim() === "" ? [] : [value.trim()];
  if (value === null || typeof value !== "object") return [];
  return Object.values(value).flatMap(strings);
}

// ": kissa → cat, feline; musta → black", the likeliest of each word in whatever language.
function translated(byLanguage) {
  const weights = new Map();
  for (const [word, terms] of Object.values(byLanguage ?? {}).flatMap(Object.entries)) {
    const others = Object.entries(terms).filter(([term]) => term !== word);
    if (others.length > 0) weights.set(word, [...(weights.get(word) ?? []), ...others]);
  }
  const shown = [...weights].slice(0, MAX_WORDS_SHOWN).map(([word, terms]) => {
    const likeliest = terms.sort(([, left], [, right]) => right - left).map(([term]) => term);
    return `${isolated(word)} → ${[...new Set(likeliest)].slice(0, N_TRANSLATIONS_SHOWN).map(isolated).join(", ")}`;
  });
  return shown.length === 0 ? "" : `: ${shown.join("; ")}`;
}

function summary(answer, hits, headers, state) {
  const total = answer.hits.total?.value ?? hits.length;
  const atLeast = answer.hits.total?.relation === "gte" ? "over " : "";
  const found = `${atLeast}${total.toLocaleString("en")} found by the engine`;
  const status = headers.get("X-Rerank-Status");
  const reason = headers.get("X-Rerank-Reason") ?? "";
  const says = [found];
  if (status === "applied") says[0] += `, the first ${Math.min(hits.length, Number(state.depth))} re-ranked`;
  else if (hits.length > 0) says.push(REASONS[reason] ?? `the engine’s order stays (${reason || "not re-ranked"})`);
  if (reason === "translated") says.push(`searched with translations${translated(answer.hits.hits[0]?._rerank?.translations)}`);
  if (answer.timed_out || answer._shards?.failed > 0) says.push("a part of the index did not answer");
  says.push(`${answer.took} ms`);
  if (answer.ext?.rerank?.no_good_answer) says.push(NO_GOOD_ANSWER);
  return says;
}
