// Where the query's words, and the words nearest to them, stand in the title and text of hits.
import { post } from "./service.js";

const MAX_CHARS = 6000;
const TRANSLATED = 0.9;
const BREAK = "\n";

// Adds to each hit: `matches` { title, text }, places in characters of each; and its language where it has none.
export async function addMatches(query, language, hits, signal) {
  const wanted = hits.filter((hit) => hit.matches === undefined);
  if (wanted.length === 0) return;
  const texts = wanted.map((hit) => `${hit.title}${BREAK}${hit.text}`.slice(0, MAX_CHARS).toWellFormed());
  const body = { query, texts };
  if (language) body.language = language;
  if (wanted.every((hit) => hit.language)) body.languages = wanted.map((hit) => hit.language);
  const answer = await post("/v1/matches", body, signal);
  wanted.forEach((hit, i) => {
    const found = withHighlights(answer.texts[i].matches, texts[i], hit.highlighted, hit.isTranslated);
    const titleEnd = Array.from(hit.title).length;
    const moved = (match) => ({ ...match, start: match.start - titleEnd - 1, end: match.end - titleEnd - 1 });
    hit.language ||= answer.texts[i].language;
    hit.matches = {
      title: found.filter((match) => match.end <= titleEnd),
      text: found.filter((match) => match.start > titleEnd).map(moved),
    };
  });
}

// The words that the engine highlighted count as the query's own, wherever they stand; those of a search with
// translations as near to it.
export function withHighlights(matches, text, highlighted = new Set(), isTranslated = false) {
  if (highlighted.size === 0) return matches;
  const taken = new Map(matches.map((match) => [match.start, match]));
  let at = 0; // in characters
  for (const part of text.split(/([\p{L}\p{M}\p{N}]+)/u)) {
    const end = at + Array.from(part).length;
    const isOver = matches.some((match) => match.start < end && match.end > at && match.start !== at);
    if (highlighted.has(part.toLowerCase()) && !isOver) {
      const known = taken.get(at);
      const likeness = isTranslated ? (known?.likeness ?? TRANSLATED) : 1;
      taken.set(at, { start: at, end, query_word: known?.query_word ?? part.toLowerCase(), word: part, likeness });
    }
    at = end;
  }
  return [...taken.values()].sort((left, right) => left.start - right.start);
}
