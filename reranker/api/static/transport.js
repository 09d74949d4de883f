// The transport between a query and a document as a picture: bands as thick as the mass that moved, coloured by its cost.
import { clipped, isolated, svgElement } from "./elements.js";

const MAX_WIDTH = 900;
const MIN_WIDTH = 300;
const LABEL_SHARE = 0.28; // of the width, on each side
const LETTER = 8.8; // px, of a wide one
const NODE = 10;
const ROW = 19; // px, of a word's label
const MASS_HEIGHT = 420; // px, of the query's whole mass
const MAX_QUERY_WORDS = 25;
const REST = "other words";
// Unrelated words cost about 1 by the cosine and 1.4 by the Euclidean distance.
const FAR_COST = 1.4;

// `width`: px to fill; the picture scales with its place afterwards.
export function transportPicture(explanation, width) {
  const frame = frameOf(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, width)));
  const flows = collectFlows(explanation);
  const left = stack(flows, "query", order(flows, "query"));
  const right = stack(flows, "document", byPartner(flows, left));
  const height = Math.max(left.height, right.height) + ROW;
  const picture = svgElement("svg", { viewBox: `0 0 ${frame.width} ${height}`, class: "transport", role: "img" });
  const shown = `${left.nodes.size} query words, ${right.nodes.size} document words, ${flows.length} bands`;
  picture.setAttribute("aria-label", `Transport from the query to the document: ${shown}. The table below says the same.`);
  const used = { query: new Map(), document: new Map() };
  for (const flow of flows) picture.append(band(flow, left.nodes, right.nodes, used, frame));
  for (const node of left.nodes.values()) picture.append(...wordMarks(node, "query", frame));
  for (const node of right.nodes.values()) picture.append(...wordMarks(node, "document", frame));
  highlightOnHover(picture);
  return picture;
}

// Where the words end and the bands begin.
function frameOf(width) {
  const left = Math.round(LABEL_SHARE * width);
  return { width, left, right: width - left, letters: Math.floor((left - NODE - 8) / LETTER) };
}

// One flow a pair of words; what was not named pair by pair goes to "other words".
function collectFlows({ words }) {
  const flows = [];
  for (const word of words.slice(0, MAX_QUERY_WORDS)) {
    for (const { query_word: query, document_word: document, mass, cost } of word.pairs) {
      flows.push({ query, document, mass, cost });
    }
    if (word.rest_mass > 1e-4) {
      const cost = word.rest_distance / word.rest_mass;
      flows.push({ query: word.word, document: REST, mass: word.rest_mass, cost });
    }
  }
  const left = words.slice(MAX_QUERY_WORDS);
  const mass = left.reduce((sum, word) => sum + word.mass, 0);
  if (mass > 1e-4) {
    const cost = left.reduce((sum, word) => sum + word.distance, 0) / mass;
    flows.push({ query: `${left.length} other words`, document: REST, mass, cost });
  }
  return flows;
}

function order(flows, side) {
  return [...new Set(flows.map((flow) => flow[side]))];
}

// Document words stand by the middle of where their mass comes from, so that bands cross little; the rest last.
function byPartner(flows, left) {
  const middle = new Map();
  for (const { query, document, mass } of flows) {
    const node = left.nodes.get(query);
    const { sum, total } = middle.get(document) ?? { sum: 0, total: 0 };
    middle.set(document, { sum: sum + mass * (node.y + node.height / 2), total: total + mass });
  }
  const place = (word) => (word === REST ? Infinity : middle.get(word).sum / middle.get(word).total);
  return [...middle.keys()].sort((one, other) => place(one) - place(other));
}

function stack(flows, side, names) {
  const nodes = new Map();
  let y = ROW / 2;
  for (const name of names) {
    const mass = flows.reduce((sum, flow) => (flow[side] === name ? sum + flow.mass : sum), 0);
    const height = Math.max(1.5, mass * MASS_HEIGHT);
    const room = Math.max(height + 5, ROW);
    nodes.set(name, { name, mass, height, y: y + (room - height) / 2 });
    y += room;
  }
  return { nodes, height: y };
}

function band(flow, left, right, used, frame) {
  const thickness = flow.mass * MASS_HEIGHT;
  const start = edge(left.get(flow.query), used.query, thickness);
  const end = edge(right.get(flow.document), used.document, thickness);
  const middle = frame.width / 2;
  const made = svgElement("path", {
    d: `M${frame.left},${start} C${middle},${start} ${middle},${end} ${frame.right},${end}`,
    "stroke-width": Math.max(0.75, thickness).toFixed(2),
    class: "band",
  });
  made.style.setProperty("--cost", `${100 * Math.min(1, Math.max(0, flow.cost / FAR_COST))}%`);
  made.dataset.query = flow.query;
  made.dataset.document = flow.document;
  const figures = `${flow.mass.toFixed(3)} of the query, distance ${flow.cost.toFixed(3)}`;
  made.append(svgElement("title", {}, `${isolated(flow.query)} → ${isolated(flow.document)}: ${figures}`));
  return made;
}

// The middle of the band's end, below the bands that end there already.
function edge(node, used, thickness) {
  const before = used.get(node.name) ?? 0;
  used.set(node.name, before + thickness);
  return node.y + before + thickness / 2;
}

function wordMarks({ name, mass, height, y }, side, frame) {
  const isQuery = side === "query";
  const bar = svgElement("rect", { x: isQuery ? frame.left - NODE : frame.right, y, width: NODE, height, class: "node" });
  const place = { x: isQuery ? frame.left - NODE - 6 : frame.right + NODE + 6, y: y + height / 2 };
  const anchor = isQuery ? "end" : "start";
  const label = svgElement("text", { ...place, "text-anchor": anchor, class: "word" }, clipped(name, frame.letters));
  for (const made of [bar, label]) {
    made.dataset[side] = name;
    made.append(svgElement("title", {}, `${name}: ${mass.toFixed(3)} of the query`));
  }
  return [bar, label];
}

function highlightOnHover(picture) {
  picture.addEventListener("pointerover", (event) => {
    const { query, document } = event.target.dataset ?? {};
    const isChosen = ({ dataset }) =>
      (query === undefined || dataset.query === query) && (document === undefined || dataset.document === document);
    for (const made of picture.querySelectorAll(".band")) {
      made.classList.toggle("faint", (query ?? document) !== undefined && !isChosen(made));
    }
  });
  picture.addEventListener("pointerleave", () => {
    for (const made of picture.querySelectorAll(".faint")) made.classList.remove("faint");
  });
}
