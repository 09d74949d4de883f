// The section of one's own queries: adding them, searching them all, their measures, saving.
import { isolated } from "./elements.js";
import { measuresView, queryTable } from "./list_view.js";
import { qrelsText, queriesText, readQrels, readQueries, save } from "./query_files.js";
import { settingsOf } from "./query_list.js";

const MAX_FILE_BYTES = 5_000_000;
const SHOWN_LINES = 5;
const UNKNOWN_WORDS = 422;

const at = (id) => document.getElementById(id);

export class ListPage {
  // `page`: state() that the form says, run(entry, signal) that searches, open(entry), redraw() of the results.
  constructor(list, page) {
    this.list = list;
    this.page = page;
    this.running = null;
    this.shownId = null;
    at("add").addEventListener("click", () => this.addPasted());
    at("queries-file").addEventListener("change", (event) => this.readFile(event.target, (text) => this.addQueries(text)));
    at("qrels-file").addEventListener("change", (event) => this.readFile(event.target, (text) => this.addJudgments(text)));
    at("run-all").addEventListener("click", () => this.runAll());
    at("stop").addEventListener("click", () => this.stop());
    at("save-qrels").addEventListener("click", () => save(qrelsText(this.entries()), "qrels.txt", "text/plain"));
    at("save-queries").addEventListener("click", () => save(queriesText(this.entries()), "queries.jsonl", "application/jsonl"));
    at("forget").addEventListener("click", () => this.forget());
    at("compare").addEventListener("click", () => {
      at("list").scrollIntoView();
      at("list-name").focus({ preventScroll: true });
    });
    at("step-back").addEventListener("click", () => this.step(-1));
    at("step-on").addEventListener("click", () => this.step(1));
  }

  entries() {
    return this.list.ofIndex(this.page.state().index);
  }

  // After a search or a judgment: `state` is that of the results shown, or null.
  show(state) {
    const entries = this.entries();
    this.current = state ? this.list.of(state) : undefined;
    at("judgments").hidden = entries.length === 0;
    at("judged").textContent = summary(entries);
    at("measures").replaceChildren(measuresView(entries, this.page.state()));
    const table = queryTable(entries, this.page.state(), this.current, {
      onOpen: (entry) => this.page.open(entry),
      onRemove: (entry) => this.remove(entry),
    });
    at("query-rows").replaceChildren(table);
    const place = entries.indexOf(this.current);
    at("stepping").hidden = place < 0 || !this.current.isListed || entries.length < 2;
    at("step").textContent = `Your query ${place + 1} of ${entries.length}`;
    at("step-back").disabled = place <= 0;
    at("step-on").disabled = place === entries.length - 1;
    if (!this.list.isKept) this.say("This browser has no room to keep the queries: save them before you leave the page.", true);
  }

  say(text, isWrong = false) {
    at("list-says").textContent = text;
    at("list-says").classList.toggle("wrong", isWrong);
  }

  addPasted() {
    if (at("pasted").value.trim() === "") return this.say("Type or paste at least one query.", true);
    this.addQueries(at("pasted").value);
    at("pasted").value = "";
  }

  addQueries(text) {
    const { queries, wrong } = readQueries(text);
    const { added, known, refused } = this.list.add(queries, this.page.state());
    const parts = [`${plural(added, "query", "queries")} added.`];
    if (known > 0) parts.push(`${known} ${known === 1 ? "was" : "were"} there already.`);
    if (refused > 0) parts.push(`${refused} left out: the list is full (1,000).`);
    if (wrong.length > 0) parts.push(`${unread(wrong)} a line is a query, or an id, a tab and a query.`);
    if (added > 0) parts.push("Press “Search all” to see both orders for each.");
    this.say(parts.join(" "), wrong.length > 0);
    this.page.redraw();
  }

  addJudgments(text) {
    const { judgments, wrong } = readQrels(text);
    const { added, unknown } = this.list.addJudgments(judgments, this.page.state().index);
    const parts = [`${plural(added, "judgment")} read.`];
    if (unknown > 0) parts.push(`${unknown} left out: no query of this index has their id. Add the queries first, with the same ids.`);
    if (wrong.length > 0) parts.push(`${unread(wrong)} a line is: query id, 0, document id, relevance.`);
    this.say(parts.join(" "), unknown > 0 || wrong.length > 0);
    this.page.redraw();
  }

  async readFile(input, use) {
    const [file] = input.files;
    if (!file) return;
    if (file.size > MAX_FILE_BYTES) this.say(`${file.name} is larger than 5 MB: take a part of it.`, true);
    else use(await file.text());
    input.value = "";
  }

  stop() {
    this.running?.abort();
  }

  async runAll() {
    this.stop();
    const mine = new AbortController();
    this.running = mine;
    const settings = settingsOf(this.page.state());
    const waiting = this.entries().filter((entry) => entry.run?.settings !== settings);
    this.setRunning(true);
    try {
      for (const [i, entry] of waiting.entries()) {
        this.say(`Searching ${i + 1} of ${waiting.length}: ${isolated(entry.query)}`);
        await this.runOne(entry, mine.signal);
      }
      this.say(waiting.length > 0 ? `${plural(waiting.length, "query", "queries")} searched.` : "All are searched as the options stand.");
    } catch (error) {
      this.say(error.name === "AbortError" ? "Stopped." : error.message, error.name !== "AbortError");
    } finally {
      if (this.running === mine) this.setRunning(false);
      this.page.redraw();
    }
  }

  // A query of unknown words alone, or of none, finds nothing; the others go on.
  async runOne(entry, signal) {
    const state = { ...this.page.state(), query: entry.query, language: entry.language, target: entry.target };
    try {
      this.record(entry, state, await this.page.run(state, signal));
    } catch (error) {
      const isWordless = error.status === 400 && !/[\p{L}\p{N}]/u.test(entry.query);
      if (error.status !== UNKNOWN_WORDS && !isWordless) throw error;
      this.record(entry, state, []);
    }
  }

  // Keeps what a search of an entry brought.
  record(entry, state, hits) {
    const order = (name) => [...hits].sort((left, right) => left[name] - right[name]).map((hit) => hit.key);
    this.list.setRun(entry, settingsOf(state), { before: order("first_stage_rank"), after: order("rank") });
  }

  setRunning(isRunning) {
    at("run-all").disabled = isRunning;
    at("stop").hidden = !isRunning;
    if (!isRunning) this.running = null;
  }

  remove(entry) {
    this.list.remove(entry);
    this.page.redraw();
    (at("judgments").hidden ? at("pasted") : at("run-all")).focus(); // its button is gone
  }

  forget() {
    const entries = this.entries();
    const isLarge = entries.length > 1 && entries.some((entry) => entry.isListed);
    if (isLarge && !window.confirm(`Forget all ${entries.length} queries of this index and their judgments?`)) return;
    this.list.forget(this.page.state().index);
    this.say("");
    this.page.redraw();
  }

  step(by) {
    const entries = this.entries();
    const next = entries[entries.indexOf(this.list.of(this.current)) + by];
    if (next) this.page.open(next);
  }
}

function summary(entries) {
  const n = entries.reduce((sum, entry) => sum + Object.keys(entry.documents).length, 0);
  const judged = entries.filter((entry) => Object.keys(entry.documents).length > 0).length;
  if (n === 0) return `${plural(entries.length, "query", "queries")}, none judged yet: open one and mark its hits.`;
  return `${plural(n, "hit")} judged for ${plural(judged, "query", "queries")}.`;
}

function unread(lines) {
  const shown = lines.slice(0, SHOWN_LINES).join(", ");
  return `Not read: line ${shown}${lines.length > SHOWN_LINES ? " …" : ""};`;
}

function plural(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}
