// Makes elements. Text from documents and the service enters the page here alone, through textContent, never as markup.

export function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
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
