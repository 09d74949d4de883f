// Lines between the two columns: where each hit stood, and where it stands.
import { svgElement } from "./elements.js";

export function drawMoves(picture, before, after) {
  const frame = picture.getBoundingClientRect();
  picture.replaceChildren();
  if (frame.width === 0) return; // one column: the ranks say it
  const left = middles(before, frame);
  const right = middles(after, frame);
  for (const [id, end] of right) {
    const start = left.get(id);
    // From above or below what the left column shows.
    if (start) line(picture, id, start.y, end.y, frame.width, movement(end.from - end.to));
    else line(picture, id, end.from < end.to ? 0 : frame.height, end.y, frame.width, `${movement(end.from - end.to)} far`);
  }
  for (const [id, start] of left) {
    if (!right.has(id)) line(picture, id, start.y, start.to < start.from ? 0 : frame.height, frame.width, "gone far");
  }
}

function middles(list, frame) {
  const found = new Map();
  for (const item of list.children) {
    const box = item.getBoundingClientRect();
    const { id, from, to } = item.dataset;
    found.set(id, { y: box.top + box.height / 2 - frame.top, from: Number(from), to: Number(to) });
  }
  return found;
}

function movement(risen) {
  if (risen > 0) return "risen";
  return risen < 0 ? "fallen" : "stayed";
}

function line(picture, id, start, end, width, className) {
  const made = svgElement("path", {
    d: `M0,${start} C${width / 2},${start} ${width / 2},${end} ${width},${end}`,
    class: `move ${className}`,
  });
  made.dataset.id = id;
  picture.append(made);
}
