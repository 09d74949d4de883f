// Why a hit is where it is: what its distance is made of, as a picture, as shaded text and as a table.
import { element, linkOrText, percent, tableRow } from "./elements.js";
import { shadedText } from "./shaded_text.js";
import { N_SHADES, transportPicture } from "./transport.js";

// `width`: px that the picture may take.
export function explanationView(explanation, width) {
  const { document: found, document_words: words } = explanation;
  const made = element("div");
  made.append(sums(explanation), transportPicture(explanation, width), legend());
  made.append(element("h3", "The document, its words shaded by the mass they took"));
  const text = element("div", undefined, "document");
  text.lang = found.language;
  if (found.title) text.append(shadedText(found.title, words, "in_title", "document-title"));
  text.append(shadedText(found.text, words, "in_text", "document-text"));
  made.append(text);
  if (found.url) {
    const source = element("p");
    source.append(linkOrText(found.url, found.url, "source"));
    made.append(source);
  }
  made.append(pairsTable(explanation));
  return made;
}

// What each part of a score comes from, in the order in which they are shown.
const PARTS = {
  first_stage: "from the first stage's own score",
  words: "from near words",
  feedback: "from words of the best hits",
  neighbours: "from the hits that it resembles",
  encoder: "from the query as a whole, by the sentence encoder",
  lacking_words: "for unknown words that the document lacks",
  hubness: "because it is near to every query",
  window: "for every candidate",
};

function sums(explanation) {
  const { method, distance, score, score_parts: scoreParts } = explanation;
  const made = element("p", undefined, "sums");
  made.append(`Distance ${distance.toFixed(4)} by ${method}, score ${score.toFixed(4)}.`);
  if (scoreParts === null) made.append(...orderSums(explanation));
  else made.append(` The score is ${scoreSums(scoreParts, explanation.lacking_words)}.`);
  return made;
}

function scoreSums(parts, lacking) {
  return Object.entries(PARTS)
    .filter(([name]) => parts[name] !== 0)
    .map(([name, source]) => {
      const named = name === "lacking_words" && lacking.length > 0 ? ` (${lacking.join(", ")})` : "";
      return `${parts[name].toFixed(4)} ${source}${named}`;
    })
    .join(" + ")
    .replaceAll("+ -", "− ");
}

function orderSums({ order_distance: ordered, order_parts: parts, lacking_words: lacking }) {
  const made = [];
  if (parts.lacking_words !== 0 || parts.hubness !== 0) {
    made.push(
      ` Ordered by ${ordered.toFixed(4)} = ${parts.words.toFixed(4)} from known words`,
      ` + ${parts.lacking_words.toFixed(4)} from unknown words that the document lacks`,
      lacking.length > 0 ? ` (${lacking.join(", ")})` : "",
      ` + ${parts.hubness.toFixed(4)} because it is near many queries.`,
    );
  }
  return made;
}

function legend() {
  const made = element("p", undefined, "legend");
  made.append("near ");
  for (let shade = 0; shade < N_SHADES; shade += 1) made.append(element("span", "", `swatch cost-${shade}`));
  made.append(" far · a band is as thick as the mass that moved");
  return made;
}

function pairsTable({ words, distance, method }) {
  const table = element("table", undefined, "pairs");
  table.createCaption().textContent = "Where the mass of each query word went";
  tableRow(table.createTHead(), ["Query word", "Document word", "Mass", "Cost", "Share of the distance"], "th");
  const body = table.createTBody();
  for (const word of words) {
    for (const pair of word.pairs) {
      const figures = [pair.mass.toFixed(3), pair.cost.toFixed(3), percent(pair.share)];
      tableRow(body, [word.word, pair.document_word, ...figures]);
    }
    if (word.rest_mass > 0.0005) {
      const share = distance > 0 ? percent(word.rest_distance / distance) : "";
      const cost = (word.rest_distance / word.rest_mass).toFixed(3);
      tableRow(body, [word.word, "(other words)", word.rest_mass.toFixed(3), cost, share]);
    }
  }
  tableRow(table.createTFoot(), [`all, by ${method}`, "", "1.000", distance.toFixed(3), "100.0 %"]);
  return table;
}
