// The fields of an index that is not ours: those of text, to tick, each with a weight.
import { element } from "./elements.js";
import { ask } from "./service.js";

const TEXT_TYPES = ["text", "match_only_text", "search_as_you_type"];
const TITLE_NAMES = ["title", "name", "headline", "heading", "subject", "label"];
// Dynamic mappings make text of these too.
const NO_TEXT_NAMES = ["url", "uri", "link", "href", "id", "uuid", "path", "email"];
const MAX_FIELDS = 60;
const MAX_WEIGHT = 20;

// Of a mapping's answer: [{ name, isMain }]; a sub-field such as title.english is not a main one, nor is an address.
export function textFields(mappings) {
  const found = new Map();
  for (const { mappings: mapping } of Object.values(mappings)) collect(mapping?.properties ?? {}, "", true, found);
  return [...found.values()].slice(0, MAX_FIELDS);
}

function collect(properties, prefix, isMain, found) {
  for (const [key, field] of Object.entries(properties)) {
    const name = `${prefix}${key}`;
    const isProse = isMain && !NO_TEXT_NAMES.includes(last(name));
    if (TEXT_TYPES.includes(field.type) && !found.has(name)) found.set(name, { name, isMain: isProse });
    if (field.properties && field.type !== "nested") collect(field.properties, `${name}.`, isMain, found);
    if (field.fields) collect(field.fields, `${name}.`, false, found);
  }
}

function last(name) {
  return name.toLowerCase().split(/[._-]/).at(-1);
}

// The name that most looks like a title's; undefined for none.
export function titleField(names) {
  for (const wanted of TITLE_NAMES) {
    const found = names.find((name) => name.toLowerCase() === wanted) ?? names.find((name) => last(name) === wanted);
    if (found !== undefined) return found;
  }
  return undefined;
}

export async function readFields(index, signal) {
  const { body } = await ask("GET", `/${encodeURIComponent(index)}/_mapping`, undefined, signal);
  return textFields(body);
}

// `given`: as the engine writes them, ["title^3", "body"]; every main field where there are none.
export function showFields(list, fields, given) {
  const weights = new Map(given.map((field) => field.split("^")).map(([name, weight]) => [name, Number(weight) || 1]));
  const rows = fields.map(({ name, isMain }) => {
    const isTicked = weights.size > 0 ? weights.has(name) : isMain;
    return row(name, isTicked, weights.get(name) ?? 1);
  });
  list.replaceChildren(...rows);
}

function row(name, isTicked, weight) {
  const made = element("div", undefined, "field");
  const label = element("label", undefined, "tick");
  const tick = element("input");
  Object.assign(tick, { type: "checkbox", checked: isTicked, name: "field", value: name });
  label.append(tick, element("span", name));
  const number = element("input");
  Object.assign(number, { type: "number", min: "0.1", max: String(MAX_WEIGHT), step: "any", value: String(weight), name: "weight" });
  number.setAttribute("aria-label", `Weight of ${name}`);
  made.append(label, number);
  return made;
}

// The ticked ones, as the engine writes them.
export function chosenFields(list) {
  return [...list.querySelectorAll(".field")]
    .filter((made) => made.querySelector("[name=field]").checked)
    .map((made) => {
      const weight = Number(made.querySelector("[name=weight]").value);
      const isOdd = !(weight > 0) || weight > MAX_WEIGHT || weight === 1;
      return `${made.querySelector("[name=field]").value}${isOdd ? "" : `^${weight}`}`;
    });
}
