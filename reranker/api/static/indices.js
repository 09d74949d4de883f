// The indices to choose from: ours, which the service lists, and the engine's others, which the browser asks it for.
import { element } from "./elements.js";
import { ask } from "./service.js";

const WRITING_SUFFIX = "-sinkrank-writing";
const IDF_INDEX = "sinkrank-idf";
const MAX_SHOWN = 500;

export function isOurs(select, index) {
  return [...select.options].some((option) => option.value === index && "ours" in option.dataset);
}

// Names of indices, aliases and data streams that the reader may see; without hidden ones and what is ours.
export async function otherIndices(select, signal) {
  const { body } = await ask("GET", "/_resolve/index/*?expand_wildcards=open", undefined, signal);
  const ours = [...select.options].filter((option) => "ours" in option.dataset).map((option) => option.value);
  return readIndices(body, ours);
}

export function readIndices({ indices = [], aliases = [], data_streams: streams = [] }, ours) {
  const isVersion = ({ aliases: names = [] }) => names.some((name) => ours.includes(name) || name.endsWith(WRITING_SUFFIX));
  const names = [...indices.filter((index) => !isVersion(index)), ...aliases, ...streams].map(({ name }) => name);
  const shown = names.filter((name) => !name.startsWith(".") && !name.endsWith(WRITING_SUFFIX) && name !== IDF_INDEX);
  return [...new Set(shown)].filter((name) => !ours.includes(name)).sort().slice(0, MAX_SHOWN);
}

export function addIndices(select, names) {
  const known = new Set([...select.options].map((option) => option.value));
  const added = names.filter((name) => !known.has(name));
  if (added.length === 0) return;
  let group = select.querySelector("optgroup.others");
  if (!group) {
    group = element("optgroup", undefined, "others");
    group.label = "Others of the engine";
    select.append(group);
  }
  for (const name of added) {
    const option = element("option", name);
    option.value = name;
    group.append(option);
  }
}
