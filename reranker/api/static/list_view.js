// Shows one's own queries as a table, and how both orders compare over those that have a relevant hit.
import { button, element, tableRow } from "./elements.js";
import { compareOrders, ndcg } from "./measures.js";
import { settingsOf } from "./query_list.js";

const LEVEL = 0.05;
const FEW = 20;
const NAMES = { ndcg: "nDCG@10", rr: "RR@10" };
const MEANINGS = {
  ndcg: "how many of the relevant hits are among the first ten, and how high they stand",
  rr: "1 divided by the rank of the first relevant hit",
};

// The entries that can be measured: searched as things are set now, with a relevant hit.
export function measurable(entries, settings) {
  return entries.filter((entry) => entry.run?.settings === settings && hasRelevant(entry)).map(({ run, documents }) => ({ ...run, documents }));
}

function hasRelevant({ documents }) {
  return Object.values(documents).some((grade) => grade > 0);
}

export function measuresView(entries, state) {
  const settings = settingsOf(state);
  const queries = measurable(entries, settings);
  const made = element("div");
  const waiting = entries.filter((entry) => entry.run?.settings !== settings).length;
  const unjudged = entries.filter((entry) => !hasRelevant(entry)).length;
  if (queries.length > 0) {
    const found = compareOrders(queries);
    made.append(element("p", verdict(found), "verdict"), measuresTable(found));
  }
  const notes = [];
  if (waiting > 0) notes.push(`${count(waiting)} not searched with these options yet: press “Search all”.`);
  if (unjudged > 0) notes.push(`${count(unjudged)} without a relevant hit so far: ${unjudged === 1 ? "it is" : "they are"} not counted.`);
  if (notes.length > 0) made.append(element("p", notes.join(" "), "hint"));
  return made;
}

function count(n) {
  return `${n} ${n === 1 ? "query is" : "queries are"}`;
}

function verdict({ n, ndcg: found }) {
  const of = `Of ${n} judged ${n === 1 ? "query" : "queries"} Sinkrank’s order is better for ${found.won}, worse for ${found.lost} and the same for ${found.tied}.`;
  if (found.difference === 0) return of;
  const way = found.difference > 0 ? "rises" : "falls";
  const told = `${of} The mean nDCG@10 ${way} from ${found.before.toFixed(3)} to ${found.after.toFixed(3)}`;
  if (found.p <= LEVEL) return `${told}, which is unlikely to be chance (p = ${shownP(found.p)}).`;
  const advice = n < FEW ? "; judge more queries to be surer" : "";
  return `${told}, which may be chance (p = ${shownP(found.p)})${advice}.`;
}

function shownP(p) {
  return p < 0.001 ? "under 0.001" : p.toFixed(3);
}

function measuresTable(found) {
  const table = element("table", undefined, "measures");
  table.createCaption().textContent = "Both orders, means over the judged queries";
  tableRow(table.createTHead(), ["Measure", "Engine", "Sinkrank", "Difference", "p", "Better / worse / same"], "th");
  const body = table.createTBody();
  for (const [key, name] of Object.entries(NAMES)) {
    const { before, after, difference, p, won, lost, tied } = found[key];
    tableRow(body, [name, before.toFixed(3), after.toFixed(3), signed(difference), shownP(p), `${won} / ${lost} / ${tied}`]);
    body.lastChild.firstChild.title = MEANINGS[key];
  }
  const note = element("p", undefined, "hint");
  note.textContent = `nDCG@10: ${MEANINGS.ndcg}. RR@10: ${MEANINGS.rr}. p: how likely so large a difference is by chance alone (paired randomisation test). Hits that are not judged count as not relevant.`;
  const made = element("div");
  made.append(table, note);
  return made;
}

function signed(difference) {
  return `${difference > 0 ? "+" : difference < 0 ? "−" : "±"}${Math.abs(difference).toFixed(3)}`;
}

// `current`: the entry that is shown above, or undefined.
export function queryTable(entries, state, current, { onOpen, onRemove }) {
  const settings = settingsOf(state);
  const table = element("table", undefined, "queries");
  table.createCaption().textContent = "nDCG@10 of each query; open one to judge its hits";
  tableRow(table.createTHead(), ["Query", "Relevant", "Engine", "Sinkrank", "Change", "Remove"], "th");
  const body = table.createTBody();
  for (const entry of entries) {
    const row = body.insertRow();
    if (entry === current) row.className = "current";
    const open = button(entry.query, "link", () => onOpen(entry));
    if (entry === current) open.setAttribute("aria-current", "true");
    if (entry.language) open.lang = entry.language;
    open.dir = "auto";
    const first = row.insertCell();
    first.append(open, element("small", entry.id, "code"));
    const grades = Object.values(entry.documents);
    row.insertCell().textContent = grades.length === 0 ? "–" : `${grades.filter((grade) => grade > 0).length} of ${grades.length} judged`;
    for (const text of figures(entry, settings)) row.insertCell().textContent = text;
    if (row.cells[4].textContent.startsWith("+")) row.cells[4].className = "up";
    if (row.cells[4].textContent.startsWith("−")) row.cells[4].className = "down";
    const remove = button("✕", "small", () => onRemove(entry));
    remove.setAttribute("aria-label", `Remove the query ${entry.query}`);
    row.insertCell().append(remove);
  }
  return table;
}

function figures(entry, settings) {
  const isRun = entry.run?.settings === settings;
  if (!isRun || !hasRelevant(entry)) return ["–", "–", isRun ? unmeasured(entry) : "not searched"];
  const [before, after] = [entry.run.before, entry.run.after].map((ranking) => ndcg(ranking, entry.documents));
  return [before.toFixed(3), after.toFixed(3), signed(after - before)];
}

// Why a query that was searched has no figures.
function unmeasured({ run, documents }) {
  if (run.after.length === 0) return "nothing found";
  return Object.keys(documents).length === 0 ? "not judged" : "none relevant";
}
