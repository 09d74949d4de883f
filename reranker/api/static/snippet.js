// The part of a document's text that says most about the query, its matches marked.
import { element, isolated } from "./elements.js";

const SNIPPET_CHARS = 160;
const SAME = 0.999;
const LONGEST_WORD = 30; // what is longer has no spaces between its words

// `matches`: places in characters, as the service gives them; null as long as they are not known.
export function snippet(title, text, matches) {
  const characters = Array.from(text);
  const first = endOfTitle(title, text);
  const start = bestStart(characters.length, first, matches ?? []);
  const from = start <= first + 40 ? first : wordStart(characters, start, first);
  const to = wordEnd(characters, from, from + SNIPPET_CHARS);
  const made = [from > first ? "… " : ""];
  appendMarked(made, characters, from, to, matches ?? []);
  if (to < characters.length) made.push(" …");
  return made;
}

// The title, its matches marked.
export function markedTitle(title, matches) {
  const characters = Array.from(title);
  const made = [];
  appendMarked(made, characters, 0, characters.length, matches ?? []);
  return made;
}

// Texts often begin with their title, which stands above them already.
export function endOfTitle(title, text) {
  const wanted = title.trim();
  if (!wanted || !text.trimStart().toLowerCase().startsWith(wanted.toLowerCase())) return 0;
  const from = text.length - text.trimStart().length + wanted.length;
  const rest = text.slice(from);
  if (!/^[\s.:,;–—-]/u.test(rest)) return 0; // the title's last word goes on
  const end = from + rest.search(/[^\s.:,;–—-]|$/u);
  return end >= text.length ? 0 : Array.from(text.slice(0, end)).length;
}

// Where to begin so that the most query words, and the nearest, stand in the snippet; the earliest of equals.
export function bestStart(length, first, matches) {
  let best = { start: first, worth: 0 };
  for (const { start } of matches.filter((match) => match.start >= first)) {
    const begin = Math.max(first, Math.min(start - 30, length - SNIPPET_CHARS));
    const worth = worthOf(matches.filter((match) => match.start >= begin && match.end <= begin + SNIPPET_CHARS));
    if (worth > best.worth + 0.01) best = { start: begin, worth };
  }
  return best.start;
}

function worthOf(matches) {
  const nearest = new Map();
  for (const { query_word: word, likeness } of matches) nearest.set(word, Math.max(likeness, nearest.get(word) ?? 0));
  return [...nearest.values()].reduce((sum, likeness) => sum + likeness, 0) + 0.01 * matches.length;
}

// The start of the word that stands at `start`; in a text without spaces `start` itself, or the letter of its mark.
function wordStart(characters, start, first) {
  for (let at = start; at >= Math.max(first, start - LONGEST_WORD); at -= 1) {
    if (at === first || /\s/u.test(characters[at - 1])) return at;
  }
  let at = start;
  while (at > first && /\p{M}/u.test(characters[at])) at -= 1;
  return at;
}

// The last end of a word before `end`; the end itself where there is none.
function wordEnd(characters, from, end) {
  if (end >= characters.length) return characters.length;
  let at = end;
  while (at > from && !/\s/u.test(characters[at])) at -= 1;
  return at > from ? at : end;
}

function appendMarked(made, characters, from, to, matches) {
  let done = from;
  for (const match of matches) {
    if (match.start < done || match.end > to) continue;
    made.push(characters.slice(done, match.start).join(""), markOf(characters, match));
    done = match.end;
  }
  made.push(characters.slice(done, to).join(""));
}

function markOf(characters, { start, end, query_word: word, likeness }) {
  const isSame = likeness >= SAME;
  const made = element("mark", characters.slice(start, end).join(""), isSame ? "same" : "near");
  if (!isSame) made.title = `similar to “${isolated(word)}”: ${likeness.toFixed(2)} of 1`;
  return made;
}
