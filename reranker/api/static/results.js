// The two columns: the first stage's order, and the new one.
import { button, element, linkOrText } from "./elements.js";

const SNIPPET_CHARS = 280;

// Of one page: the same ranks of both orders, out of all hits that were re-ranked.
export function pageOf(hits, page, size) {
  const first = (page - 1) * size;
  const before = [...hits].sort((left, right) => left.first_stage_rank - right.first_stage_rank);
  return { before: before.slice(first, first + size), after: hits.slice(first, first + size) };
}

export function beforeItem(hit) {
  const made = item(hit);
  const now = hit.rank === hit.first_stage_rank ? "stays" : `now ${hit.rank}`;
  made.append(
    element("b", String(hit.first_stage_rank)),
    element("span", hit.title || hit.id, "name"),
    element("small", `${hit.language} · ${hit.first_stage_score.toFixed(4)} · ${now}`),
  );
  made.querySelector(".name").lang = hit.language;
  return made;
}

export function afterItem(hit, { judgment, onWhy, onJudge }) {
  const made = item(hit);
  const rank = element("div", undefined, "rank");
  rank.append(element("b", String(hit.rank)), mark(hit), element("small", hit.score.toFixed(4)));
  const content = element("div", undefined, "content");
  const title = linkOrText(hit.title || hit.id, hit.url, "title");
  const snippet = element("p", shortened(hit.text), "snippet");
  title.lang = snippet.lang = hit.language;
  content.append(title, element("span", hit.language, "code"), snippet, buttons(hit, judgment, onWhy, onJudge));
  made.append(rank, content);
  return made;
}

function item(hit) {
  const made = element("li");
  Object.assign(made.dataset, { id: hit.id, from: hit.first_stage_rank, to: hit.rank });
  return made;
}

function mark(hit) {
  const risen = hit.first_stage_rank - hit.rank;
  if (risen === 0) return element("span", "", "mark");
  const made = element("span", `${risen > 0 ? "▲" : "▼"} ${Math.abs(risen)}`, `mark ${risen > 0 ? "up" : "down"}`);
  made.title = `${risen > 0 ? "up" : "down"} from ${hit.first_stage_rank}`;
  return made;
}

function buttons(hit, judgment, onWhy, onJudge) {
  const made = element("div", undefined, "buttons");
  const name = hit.title || hit.id;
  if (hit.distance !== null) {
    const why = button("Why?", "small", () => onWhy(hit));
    why.setAttribute("aria-label", `Why is ${name} here?`);
    made.append(why);
  } else if (hit.without_known_word) {
    made.append(element("small", "no known word: transport says nothing", "note"));
  }
  const judge = element("span", undefined, "judge");
  for (const [value, text] of [[1, "Relevant"], [0, "Not relevant"]]) {
    const toggle = button(text, "small", () => {
      const chosen = toggle.getAttribute("aria-pressed") === "true" ? null : value;
      for (const other of judge.children) other.setAttribute("aria-pressed", String(other === toggle && chosen !== null));
      onJudge(hit, chosen);
    });
    toggle.setAttribute("aria-label", `${name}: ${text.toLowerCase()}`);
    toggle.setAttribute("aria-pressed", String(judgment === value));
    judge.append(toggle);
  }
  made.append(judge);
  return made;
}

function shortened(text) {
  return text.length > SNIPPET_CHARS ? `${text.slice(0, SNIPPET_CHARS)} …` : text;
}
