// Why a hit is where it is: what its distance is made of, as a picture, as shaded text and as a table.
import { element, isolated, linkOrText, percent, tableRow } from "./elements.js";
import { partsTable } from "./score_parts.js";
import { shadedText } from "./shaded_text.js";
import { standingView } from "./standing.js";
import { transportPicture } from "./transport.js";

// `width`: px that the picture may take; `titleOf`: of the hit with an id, or the id.
export function explanationView(explanation, width, titleOf) {
  const { document: found, document_words: words, score_parts: parts, score_sources: sources, lacking_words: lackingWords } = explanation;
  const made = element("div");
  if (explanation.standing.fell_at !== null) made.append(standingView(explanation.standing));
  made.append(sums(explanation));
  if (parts !== null) made.append(partsTable(parts, { sources, lackingWords, titleOf }));
  made.append(element("h3", "Which words of the document the words of the query were matched with"));
  made.append(transportPicture(explanation, width), legend());
  made.append(element("h3", "The document: the stronger a word is coloured, the more of the query it was matched with"));
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

function sums(explanation) {
  const { method, distance, score, score_parts: parts } = explanation;
  const made = element("p", undefined, "sums");
  made.append(`Score ${score.toFixed(4)}, distance ${distance.toFixed(4)} by ${method}.`);
  if (parts === null) made.append(...orderSums(explanation));
  return made;
}

function orderSums({ order_distance: ordered, order_parts: parts, lacking_words: lacking }) {
  const made = [];
  if (parts.lacking_words !== 0 || parts.hubness !== 0) {
    made.push(
      ` Ordered by ${ordered.toFixed(4)} = ${parts.words.toFixed(4)} from known words`,
      ` + ${parts.lacking_words.toFixed(4)} from unknown words that the document lacks`,
      lacking.length > 0 ? ` (${lacking.map(isolated).join(", ")})` : "",
      ` + ${parts.hubness.toFixed(4)} because it is near many queries.`,
    );
  }
  return made;
}

function legend() {
  const made = element("p", undefined, "legend");
  made.append("near ", element("span", "", "scale"), " far · the thicker a band, the more of the query it stands for");
  return made;
}

function pairsTable({ words, distance, method }) {
  const table = element("table", undefined, "pairs");
  table.createCaption().textContent = "The same in numbers";
  tableRow(table.createTHead(), ["Query word", "Document word", "Part of the query", "Distance", "Share of all"], "th");
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
