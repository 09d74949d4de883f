// Reads queries and TREC qrels as `sinkrank evaluate` does, and writes both.

const ID_KEYS = ["query_id", "id", "_id", "qid"];
const TEXT_KEYS = ["query", "text"];

// A line each: a query; an id, a tab and a query; or a JSON object with query_id, query, language, languages, index.
// { queries: [{ id, query, language, target, index }], wrong: numbers of lines that cannot be read }.
export function readQueries(text) {
  const queries = [];
  const wrong = [];
  linesOf(text).forEach(({ line, number }) => {
    const found = line.startsWith("{") ? fromJson(line) : fromLine(line);
    if (found?.query) queries.push(found);
    else wrong.push(number);
  });
  return { queries, wrong };
}

function fromLine(line) {
  const [first, ...others] = line.split("\t");
  if (others.length === 0) return { query: first.trim() };
  return { id: first.trim(), query: others.join("\t").trim() };
}

function fromJson(line) {
  let record;
  try {
    record = JSON.parse(line);
  } catch {
    return null;
  }
  const text = (name) => (["string", "number"].includes(typeof record[name]) ? String(record[name]).trim() : "");
  const [id, query] = [ID_KEYS, TEXT_KEYS].map((names) => names.map(text).find(Boolean));
  const target = Array.isArray(record.languages) && typeof record.languages[0] === "string" ? record.languages[0] : "";
  return { id, query, language: text("language"), target, index: text("index") };
}

// TREC's `query 0 document relevance`, where a document's id may hold blanks; or BEIR's three columns with tabs.
// { judgments: [{ id, document, relevance }], wrong: numbers of lines }.
export function readQrels(text) {
  const judgments = [];
  const wrong = [];
  linesOf(text).forEach(({ line, number }, place) => {
    const columns = line.split("\t").map((column) => column.trim());
    const trec = /^(\S+)\s+\S+\s+(.+?)\s+(-?\d+)$/u.exec(line);
    const [id, document, grade] = columns.length === 3 ? columns : (trec?.slice(1) ?? []);
    const isHeader = place === 0 && grade?.toLowerCase() === "score";
    if (id && document && /^-?\d+$/.test(grade ?? "")) judgments.push({ id, document, relevance: Number(grade) });
    else if (!isHeader) wrong.push(number);
  });
  return { judgments, wrong };
}

function linesOf(text) {
  return text
    .replace(/^\ufeff/, "")
    .split("\n")
    .map((line, i) => ({ line: line.trim(), number: i + 1 }))
    .filter(({ line }) => line !== "");
}

export function qrelsText(entries) {
  return entries
    .flatMap(({ id, documents }) => Object.entries(documents).map(([document, grade]) => `${id} 0 ${document} ${grade}\n`))
    .join("");
}

export function queriesText(entries) {
  return entries
    .map(({ id, query, language, target, index }) => {
      const line = { query_id: id, query };
      if (language) line.language = language;
      if (target) line.languages = [target];
      if (index) line.index = index;
      return `${JSON.stringify(line)}\n`;
    })
    .join("");
}

export function save(text, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
