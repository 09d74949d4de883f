// Searches an index and gives hits of one shape, whoever made the index.
import { clipped, isolated } from "./elements.js";
import { NO_GOOD_ANSWER, searchEngine } from "./engine_search.js";
import { post } from "./service.js";
import { searchBody } from "./state.js";

// A field that is taken for the title may hold a whole text.
const MAX_TITLE_CHARS = 200;
// How the candidates were found, in plain words.
const FIRST_STAGES = { knn: "meaning", bm25: "words", hybrid: "words and meaning", translated: "translated words" };

// { hits, isOurs, isReranked, language, says: parts of the status line }; a hit has id, key (the
// one by which it is told from the others and judged), title, url, language, text, score, rank,
// relevance, first_stage_rank, first_stage_score, score_parts, without_known_word and, in an index of ours, distance.
export async function searchIndex(state, isOurs, signal) {
  const found = await (isOurs ? searchOurs(state, signal) : searchEngine(state, signal));
  for (const hit of found.hits) hit.title = clipped(hit.title, MAX_TITLE_CHARS);
  return { ...found, isOurs };
}

async function searchOurs(state, signal) {
  // 0 leaves out none, and asks how likely each hit is.
  const body = { ...searchBody(state), ...(state.method === "auto" && { min_relevance: 0 }) };
  const answer = await post("/v1/search", body, signal);
  const isReranked = answer.method !== "none";
  const way = FIRST_STAGES[answer.first_stage];
  const found = `${answer.n_candidates} found${way ? ` by ${way}` : ""} (${answer.first_stage})`;
  const says = [isReranked ? `${found}, the first ${answer.n_reranked} re-ranked (${answer.method})` : `${found}, not re-ranked`];
  says.push(`query read as ${languageName(answer.language)}`, `${Math.round(answer.took_ms.total)} ms`);
  if (answer.unknown_words.length > 0) says.push(`unknown words: ${answer.unknown_words.map(isolated).join(", ")}`);
  if (answer.no_good_answer) says.push(NO_GOOD_ANSWER);
  const hits = answer.hits.map((hit) => ({ ...hit, key: hit.id }));
  return { hits, isReranked, language: answer.language, says };
}

// "Finnish" for "fi"; the code itself where the browser has no name for it.
export function languageName(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code;
  }
}
