// The two columns: the order before re-ranking, and the new one.
import { button, element, linkOrText } from "./elements.js";
import { markedTitle, snippet } from "./snippet.js";

const JUDGMENTS = [[1, "Relevant", "✓"], [0, "Not relevant", "✗"]];

// Of one page: the same ranks of both orders, out of all hits that were re-ranked.
export function pageOf(hits, page, size) {
  const first = (page - 1) * size;
  const before = [...hits].sort((left, right) => left.first_stage_rank - right.first_stage_rank);
  const after = [...hits].sort((left, right) => left.rank - right.rank);
  return { before: before.slice(first, first + size), after: after.slice(first, first + size) };
}

export function beforeItem(hit, { judgment, onJudge }) {
  const made = item(hit);
  const now = hit.rank === hit.first_stage_rank ? "stays" : `now ${hit.rank}`;
  const name = element("span", hit.title || hit.id, "name");
  name.title = `score ${hit.first_stage_score.toFixed(4)}`;
  setLanguage([name], hit);
  made.append(element("b", String(hit.first_stage_rank)), name, element("small", now), judgeButtons(hit, judgment, onJudge, true));
  return made;
}

export function afterItem(hit, { judgment, onWhy, onJudge, isReranked, hasLanguages }) {
  const made = item(hit);
  const rank = element("div", undefined, "rank");
  const score = element("small", hit.score.toFixed(3));
  score.title = "score";
  rank.append(element("b", String(hit.rank)), mark(hit), score);
  if (hit.relevance !== undefined) {
    const relevance = element("small", `${Math.round(100 * hit.relevance)} % likely`);
    relevance.title = "estimated probability that it is what was meant";
    rank.append(relevance);
  }
  const content = element("div", undefined, "content");
  const title = linkOrText("", hit.url, "title");
  const text = element("p", undefined, "snippet");
  content.append(title, element("span", hit.language, "code"), text, buttons(hit, judgment, onWhy, onJudge, isReranked));
  made.append(rank, content);
  showText(made, hit, hasLanguages);
  return made;
}

// Fills title and snippet, with marks where the matches are known. The language is named where hits differ in it.
export function showText(made, hit, hasLanguages) {
  const [title, text, code] = ["title", "snippet", "code"].map((name) => made.querySelector(`.${name}`));
  title.replaceChildren(...markedTitle(hit.title || hit.id, hit.title ? hit.matches?.title : []));
  text.replaceChildren(...snippet(hit.title, hit.text, hit.matches?.text ?? null));
  text.hidden = text.textContent.trim() === "";
  code.textContent = hit.language;
  code.hidden = !hasLanguages || hit.language === "";
  setLanguage([title, text], hit);
}

function setLanguage(elements, hit) {
  for (const each of elements) {
    if (hit.language) each.lang = hit.language;
    each.dir = "auto";
  }
}

function item(hit) {
  const made = element("li");
  Object.assign(made.dataset, { id: hit.key, from: hit.first_stage_rank, to: hit.rank });
  return made;
}

function mark(hit) {
  const risen = hit.first_stage_rank - hit.rank;
  if (risen === 0) return element("span", "", "mark");
  const made = element("span", `${risen > 0 ? "▲" : "▼"} ${Math.abs(risen)}`, `mark ${risen > 0 ? "up" : "down"}`);
  made.title = `${risen > 0 ? "up" : "down"} from ${hit.first_stage_rank}`;
  return made;
}

function buttons(hit, judgment, onWhy, onJudge, isReranked) {
  const made = element("div", undefined, "buttons");
  const name = hit.title || hit.id;
  if (hit.without_known_word) {
    made.append(element("small", "no word of it is known, so it keeps the engine’s score", "note"));
  } else if (isReranked && (hit.distance ?? hit.score_parts) !== null) {
    const why = button("Why?", "small", () => onWhy(hit));
    why.setAttribute("aria-label", `Why is ${name} here?`);
    made.append(why);
  }
  made.append(judgeButtons(hit, judgment, onJudge, false));
  return made;
}

function judgeButtons(hit, judgment, onJudge, isShort) {
  const made = element("span", undefined, "judge");
  for (const [value, text, sign] of JUDGMENTS) {
    const toggle = button(isShort ? sign : text, "small", () => {
      const chosen = toggle.getAttribute("aria-pressed") === "true" ? null : value;
      showJudgment(hit.key, chosen);
      onJudge(hit, chosen);
    });
    toggle.dataset.relevance = value;
    toggle.title = isShort ? text : "";
    toggle.setAttribute("aria-label", `${hit.title || hit.id}: ${text.toLowerCase()}`);
    toggle.setAttribute("aria-pressed", String(judgment === value));
    made.append(toggle);
  }
  return made;
}

// A hit stands in both columns: its buttons say the same in each.
function showJudgment(key, chosen) {
  for (const made of document.querySelectorAll("#columns li")) {
    if (made.dataset.id !== key) continue;
    for (const toggle of made.querySelectorAll("[data-relevance]")) {
      toggle.setAttribute("aria-pressed", String(chosen !== null && toggle.dataset.relevance === String(chosen)));
    }
  }
}
