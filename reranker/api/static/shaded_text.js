// A document's text, its words shaded by the mass that came to them.
import { element, isolated } from "./elements.js";

// A book is not laid out whole; only its first words are read anyway.
const MAX_CHARS = 20000;

// `name` is where the places stand: "in_title" or "in_text". Places count characters, not the halves of JavaScript.
export function shadedText(text, words, name, className) {
  const characters = Array.from(text).slice(0, MAX_CHARS);
  const most = Math.max(...words.map((word) => word.mass), 0);
  const places = words
    .flatMap((word) => word[name].map(([start, end]) => ({ start, end, word })))
    .filter((place) => place.end <= characters.length)
    .sort((left, right) => left.start - right.start);
  const made = element("p", undefined, className);
  made.dir = "auto";
  let done = 0;
  for (const { start, end, word } of places) {
    made.append(characters.slice(done, start).join(""));
    made.append(shaded(characters.slice(start, end).join(""), word, most));
    done = end;
  }
  made.append(characters.slice(done).join(""), text.length > MAX_CHARS ? " …" : "");
  return made;
}

function shaded(text, word, most) {
  const made = element("mark", text);
  made.style.setProperty("--mass", word.mass / most);
  const cost = word.mass > 0 ? (word.distance / word.mass).toFixed(3) : "0";
  made.title = `${isolated(word.word)}: ${word.mass.toFixed(3)} of the query, mean distance ${cost}`;
  return made;
}
