// Makes elements. Text from documents and the service enters the page here alone, through textContent, never as markup.

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

export function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Inside a sentence: text that runs from right to left does not move what stands beside it.
export function isolated(text) {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}

// `most`: letters to keep.
export function clipped(text, most) {
  const letters = Array.from(text);
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}

export function button(text, className, onClick) {
  const made = element("button", text, className);
  made.type = "button";
  made.addEventListener("click", onClick);
  return made;
}

export function svgElement(name, attributes = {}, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// A link if its address is one of the web, else plain text.
export function linkOrText(text, address, className) {
  if (!/^https?:\/\//i.test(address)) return element("span", text, className);
  const made = element("a", text, className);
  made.href = address;
  made.rel = "noopener noreferrer";
  return made;
}

export function tableRow(body, texts, cellName = "td") {
  const made = body.insertRow();
  for (const text of texts) {
    const cell = element(cellName, text);
    if (cellName === "th") cell.scope = "col";
    else if (/^[−-]?\d[\d.]*( %)?$/.test(text)) cell.className = "number";
    made.append(cell);
  }
}

export function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}
