// One's own queries with their judgments and what both orders brought, kept in this browser.

const KEY = "sinkrank-judgments";
const MAX_QUERIES = 1000;
const MAX_QUERY_CHARS = 1000;
const MAX_ID_CHARS = 100;
const MAX_DOCUMENTS = 2000; // judged ones of a query
const N_KEPT = 10; // ids of each order

// An entry has id, query, language, target, index, documents (key of a hit → relevance), isListed, and of its last search
// run { settings, before, after }, or none.
export class QueryList {
  constructor() {
    this.entries = read();
    this.isKept = true;
  }

  // Before each change: another tab may have written since.
  readAgain() {
    if (this.isKept) this.entries = read();
  }

  of(state) {
    return this.entries.find((entry) => isSame(entry, state));
  }

  ofIndex(index) {
    return this.entries.filter((entry) => entry.index === index);
  }

  // `found`: as query_files reads them; what they leave out is that of the state. How many were new, known or too many.
  add(found, state) {
    this.readAgain();
    const count = { added: 0, known: 0, refused: 0 };
    for (const each of found) {
      const entry = { ...identity(state), ...withoutBlanks(each) };
      entry.query = entry.query.slice(0, MAX_QUERY_CHARS);
      const known = this.of(entry);
      if (known) {
        known.isListed = true;
        count.known += 1;
      } else if (this.entries.length >= MAX_QUERIES) count.refused += 1;
      else {
        this.append(entry, true);
        count.added += 1;
      }
    }
    this.write();
    return count;
  }

  append(entry, isListed) {
    const made = { ...identity(entry), id: this.freeId(entry), documents: documentsOf(), isListed, run: null };
    this.entries.push(made);
    return made;
  }

  freeId({ id, index }) {
    const taken = new Set(this.ofIndex(index).map((entry) => entry.id));
    const wanted = (id ?? "").replace(/\s+/gu, "-").slice(0, MAX_ID_CHARS);
    if (wanted && !taken.has(wanted)) return wanted;
    let number = 1;
    while (taken.has(`q${number}`)) number += 1;
    return `q${number}`;
  }

  // `relevance`: null takes a judgment back.
  judge(state, key, relevance) {
    this.readAgain();
    const entry = this.of(state) ?? this.append(state, false);
    if (relevance === null) delete entry.documents[key];
    else if (Object.keys(entry.documents).length < MAX_DOCUMENTS) entry.documents[key] = relevance;
    this.entries = this.entries.filter((each) => each.isListed || Object.keys(each.documents).length > 0);
    this.write();
  }

  // How many judgments were taken, and how many belong to no query of the index.
  addJudgments(judgments, index) {
    this.readAgain();
    const byId = new Map(this.ofIndex(index).map((entry) => [entry.id, entry]));
    const count = { added: 0, unknown: 0 };
    for (const { id, document, relevance } of judgments) {
      const entry = byId.get(id);
      if (entry && Object.keys(entry.documents).length < MAX_DOCUMENTS) {
        entry.documents[document] = relevance;
        count.added += 1;
      } else count.unknown += 1;
    }
    this.write();
    return count;
  }

  setRun(wanted, settings, { before, after }) {
    this.readAgain();
    const entry = this.of(wanted);
    if (!entry) return; // removed meanwhile
    entry.run = { settings, before: before.slice(0, N_KEPT), after: after.slice(0, N_KEPT) };
    this.write();
  }

  remove(entry) {
    this.readAgain();
    this.entries = this.entries.filter((each) => !isSame(each, entry));
    this.write();
  }

  forget(index) {
    this.readAgain();
    this.entries = this.entries.filter((entry) => entry.index !== index);
    this.write();
  }

  write() {
    try {
      window.localStorage.setItem(KEY, JSON.stringify(this.entries));
      this.isKept = true;
    } catch {
      this.isKept = false; // no room, or a private window: they last as long as the page
    }
  }
}

// What an order was made with, besides the query itself.
export function settingsOf({ query, language, target, index, ...others }) {
  return JSON.stringify(others);
}

function identity({ query, language, target, index, id }) {
  return { query, language: language ?? "", target: target ?? "", index: index ?? "", ...(id && { id }) };
}

function isSame(left, right) {
  return ["query", "language", "target", "index"].every((name) => (left[name] ?? "") === (right[name] ?? ""));
}

function withoutBlanks(entry) {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value));
}

function read() {
  let kept;
  try {
    kept = JSON.parse(window.localStorage.getItem(KEY));
  } catch {
    return [];
  }
  const entries = (Array.isArray(kept) ? kept : []).filter(isEntry).slice(0, MAX_QUERIES);
  return entries.map((entry, i) => ({
    ...identity(entry),
    id: typeof entry.id === "string" && entry.id ? entry.id : `q${i + 1}`,
    documents: documentsOf(entry.documents),
    isListed: entry.isListed === true,
    run: isRun(entry.run) ? entry.run : null,
  }));
}

// Without a prototype: a document may have the id "constructor".
function documentsOf(kept = {}) {
  return Object.assign(Object.create(null), kept);
}

function isEntry(entry) {
  return typeof entry?.query === "string" && typeof entry.documents === "object" && entry.documents !== null;
}

function isRun(run) {
  return typeof run?.settings === "string" && Array.isArray(run.before) && Array.isArray(run.after);
}
