// Relevance judgments: kept in this browser, saved as TREC qrels and as the queries that they belong to.

const KEY = "sinkrank-judgments";

export class Judgments {
  constructor() {
    this.queries = read();
  }

  // Of one query: document id → 1 or 0.
  of(state) {
    return this.queries.find((query) => isSame(query, state))?.documents ?? {};
  }

  // `relevance` 1, 0, or null to take a judgment back.
  judge(state, hitId, relevance) {
    let query = this.queries.find((known) => isSame(known, state));
    if (!query) {
      query = { ...identity(state), documents: {} };
      this.queries.push(query);
    }
    if (relevance === null) delete query.documents[hitId];
    else query.documents[hitId] = relevance;
    this.queries = this.queries.filter((known) => Object.keys(known.documents).length > 0);
    this.write();
  }

  forget() {
    this.queries = [];
    this.write();
  }

  write() {
    try {
      window.localStorage.setItem(KEY, JSON.stringify(this.queries));
    } catch {
      // Private windows may keep nothing: the judgments last as long as the page.
    }
  }

  summary() {
    const count = this.queries.reduce((sum, query) => sum + Object.keys(query.documents).length, 0);
    return count === 0 ? "" : `${plural(count, "hit")} judged for ${plural(this.queries.length, "query", "queries")}.`;
  }

  // "query 0 document relevance", a line each.
  qrels() {
    return this.queries
      .flatMap((query, i) => Object.entries(query.documents).map(([id, relevance]) => `q${i + 1} 0 ${id} ${relevance}\n`))
      .join("");
  }

  // JSON objects, a line each: query_id, query, and the language, languages and index where they were chosen.
  queryLines() {
    return this.queries
      .map(({ query, language, target, index }, i) => {
        const line = { query_id: `q${i + 1}`, query };
        if (language) line.language = language;
        if (target) line.languages = [target];
        if (index) line.index = index;
        return `${JSON.stringify(line)}\n`;
      })
      .join("");
  }
}

export function save(text, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function identity({ query, language, target, index }) {
  return { query, language, target, index };
}

function isSame(left, right) {
  return JSON.stringify(identity(left)) === JSON.stringify(identity(right));
}

function plural(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

function read() {
  try {
    const kept = JSON.parse(window.localStorage.getItem(KEY));
    return Array.isArray(kept) ? kept.filter((query) => typeof query?.documents === "object") : [];
  } catch {
    return [];
  }
}
