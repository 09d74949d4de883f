// Calls that both clients have: [method, arguments, options]. A function is a call of several steps.
"use strict";

const { Readable } = require("node:stream");

const INDEX = "clients-javascript";
const WORDS = `${INDEX}-words`;
const N_DOCUMENTS = 60;

const PROPERTIES = { text: { type: "text" }, n: { type: "integer" }, tag: { type: "keyword" } };
const SETTINGS = { number_of_shards: 1, number_of_replicas: 0 };
const BY_TEXT = { match: { text: "cat" } };
// Scores count deleted documents until the engine merges their segments, and equal ones come in the segments' order.
const IN_ORDER = ["n", "tag"];
// The engine finds all of them by "any"; of their other words dog is nearest to chat, then car, then bread.
const ANY_CHAT = { match: { text: "any chat" } };

const PREPARATION = [
  ["indices.create", { index: INDEX, body: { settings: SETTINGS, mappings: { properties: PROPERTIES } } }],
  ["index", { index: INDEX, id: "1", body: { text: "cat dog", n: 1, tag: "a" }, refresh: true }],
  ["create", { index: INDEX, id: "2", body: { text: "bread", n: 2, tag: "b" }, refresh: "wait_for" }],
  ["index", { index: INDEX, id: "ä/ö ü+&?%", body: { text: "été", n: 3, tag: "ä b" }, refresh: true }],
  ["indices.create", { index: WORDS, body: { settings: SETTINGS, mappings: { properties: PROPERTIES } } }],
  ["bulk", { index: WORDS, refresh: true, body: [
    { index: { _id: "0" } }, { text: "any bread", n: 0, tag: "x" },
    { index: { _id: "1" } }, { text: "any car", n: 1, tag: "x" },
    { index: { _id: "2" } }, { text: "any dog", n: 2, tag: "y" },
  ] }],
];

const CALLS = [
  // Documents.
  ["get", { index: INDEX, id: "1" }],
  ["get", { index: INDEX, id: "ä/ö ü+&?%" }],
  ["get", { index: INDEX, id: "none" }],
  ["get", { index: `${INDEX}-none`, id: "1" }],
  ["getSource", { index: INDEX, id: "2" }],
  ["exists", { index: INDEX, id: "1" }],
  ["exists", { index: INDEX, id: "none" }],
  ["existsSource", { index: INDEX, id: "none" }],
  ["mget", { index: INDEX, body: { ids: ["1", "none"] } }],
  ["create", { index: INDEX, id: "2", body: { n: 2 } }],
  ["update", { index: INDEX, id: "2", body: { doc: { n: 4 } }, refresh: true }],
  ["update", { index: INDEX, id: "none", body: { doc: { n: 4 } } }],
  ["index", { index: INDEX, id: "6", body: { n: "no number" } }],
  ["termvectors", { index: INDEX, id: "1", fields: "text" }],
  ["bulk", { index: INDEX, body: [{ index: { _id: "7" } }, { n: 7 }, { create: { _id: "1" } }, { n: 1 }], refresh: true }],
  streamedBulk,
  ["deleteByQuery", { index: INDEX, body: { query: { term: { n: 77 } } }, refresh: true }],
  ["reindex", { body: { source: { index: INDEX }, dest: { index: `${INDEX}-copy` } }, refresh: true }],
  // Searches that keep the engine's order.
  ["search", { index: INDEX, body: { query: { match_all: {} }, sort: ["n"] } }],
  ["search", { index: INDEX, body: { query: BY_TEXT, sort: ["n"], highlight: { fields: { text: {} } } } },
    { opaqueId: "from-javascript" }],
  ["search", { index: INDEX, body: { size: 0, query: BY_TEXT, aggs: { tags: { terms: { field: "tag" } } } } }],
  ["search", { index: INDEX, body: { query: { no_such_query: {} } } }],
  ["search", { index: `${INDEX}-none`, body: { query: BY_TEXT } }],
  ["search", { index: INDEX, body: { query: { match: { text: { query: "cat", operator: "xor" } } } } }],
  ["msearch", { body: [{ index: INDEX }, { query: BY_TEXT, sort: ["n"] }, { index: `${INDEX}-none` }, {}] }],
  ["count", { index: INDEX, body: { query: BY_TEXT } }],
  ["count", { index: INDEX, q: "text:cat AND n:[0 TO 5]" }],
  ["fieldCaps", { index: INDEX, fields: "*" }],
  ["searchTemplate", { index: INDEX, body: { source: '{"query": {"match_all": {}}, "sort": ["n"]}' } }],
  ["scroll", { body: { scroll_id: "none" } }],
  scrolled,
  streamedAnswer,
  // Administration.
  ["ping", {}],
  ["info", {}],
  ["indices.exists", { index: INDEX }],
  ["indices.exists", { index: `${INDEX}-none` }],
  ["indices.getMapping", { index: INDEX }],
  ["indices.putMapping", { index: INDEX, body: { properties: { more: { type: "keyword" } } } }],
  ["indices.putMapping", { index: INDEX, body: { properties: { n: { type: "text" } } } }],
  ["indices.getSettings", { index: INDEX }],
  ["indices.analyze", { index: INDEX, body: { text: "A cat", analyzer: "standard" } }],
  ["indices.putAlias", { index: INDEX, name: `${INDEX}-alias` }],
  ["indices.getAlias", { name: `${INDEX}-none` }],
  ["indices.refresh", { index: INDEX }],
  ["cluster.health", { index: INDEX }],
  ["cat.count", { index: INDEX, h: "count" }],
  ["cat.indices", { index: INDEX, h: "index,docs.count", v: true }],
  ["cat.aliases", { format: "json", name: `${INDEX}-alias` }],
  ["tasks.get", { task_id: "none:1" }],
  ["transport.request", { method: "GET", path: `/${INDEX}/_no_such_path` }],
  ["delete", { index: INDEX, id: "7", refresh: true }],
  ["delete", { index: INDEX, id: "7" }],
];

/** Of one engine alone. */
const OWN_CALLS = {
  opensearch: [openSearchPointInTime, ["transport.request", {
    method: "POST", path: "/_plugins/_asynchronous_search", body: { query: BY_TEXT } }]],
  elasticsearch: [elasticsearchPointInTime, ["asyncSearch.submit", { index: INDEX, body: { query: BY_TEXT } }]],
};

const HELPERS = [bulkHelper, bulkHelperWithErrors, scrollHelper, scrollDocumentsHelper, searchHelper, msearchHelper];

/** Searches whose hits the proxy puts into another order. */
const RE_RANKED = [
  ["search", { index: WORDS, body: { query: ANY_CHAT } }],
  ["search", { index: WORDS, q: "any chat", typed_keys: true, rest_total_hits_as_int: true }],
  ["search", { index: WORDS, body: { query: { bool: { must: [ANY_CHAT], filter: [{ range: { n: { gte: 0 } } }] } },
    aggs: { tags: { terms: { field: "tag" } } }, highlight: { fields: { text: {} } } } }],
  ["msearch", { body: [{ index: WORDS }, { query: ANY_CHAT }, { index: WORDS }, { query: ANY_CHAT, size: 3 }] }],
  searchHelperByText,
  msearchHelperByText,
];

async function streamedBulk(client) {
  const lines = Readable.from(['{"index":{"_id":"8"}}\n', '{"n":8}\n']);
  return unwrapped(await client.bulk({ index: INDEX, body: lines, refresh: true }));
}

async function streamedAnswer(client) {
  const answer = unwrapped(await client.search({ index: INDEX, body: { query: { match_all: {} }, sort: ["n"] } },
    { asStream: true, compression: false, headers: { "accept-encoding": "identity" } }));
  let text = "";
  for await (const part of answer) text += part;
  return JSON.parse(text);
}

async function scrolled(client) {
  const first = unwrapped(await client.search({ index: INDEX, scroll: "1m", size: 1, body: { query: BY_TEXT } }));
  const next = unwrapped(await client.scroll({ body: { scroll_id: first._scroll_id, scroll: "1m" } }));
  await client.clearScroll({ body: { scroll_id: [next._scroll_id] } });
  return [first, next];
}

async function openSearchPointInTime(client) {
  const { pit_id: id } = unwrapped(await client.createPit({ index: INDEX, keep_alive: "1m" }));
  const found = unwrapped(await client.search({ body: { query: { match_all: {} }, pit: { id } } }));
  await client.deletePit({ body: { pit_id: [id] } });
  return found;
}

async function elasticsearchPointInTime(client) {
  const { id } = await client.openPointInTime({ index: INDEX, keep_alive: "1m" });
  const found = await client.search({ query: { match_all: {} }, pit: { id } });
  await client.closePointInTime({ id });
  return found;
}

const documents = () => Array.from({ length: N_DOCUMENTS }, (_, n) => ({ text: "cat ".repeat(n % 7), n }));

async function bulk(client, datasource) {
  const dropped = [];
  const { time, ...counts } = await client.helpers.bulk({
    datasource,
    onDocument: ({ n }) => ({ index: { _index: INDEX, _id: `bulk-${n}` } }),
    onDrop: ({ status, error, document }) => dropped.push({ status, error, document }),
    flushBytes: 1000,
    concurrency: 1,
    refreshOnCompletion: INDEX,
  });
  return { counts, dropped };
}

function bulkHelper(client) {
  return bulk(client, documents());
}

function bulkHelperWithErrors(client) {
  return bulk(client, [...documents(), { n: "no number" }]);
}

async function scrollHelper(client) {
  const ids = [];
  const search = { index: INDEX, size: 7, body: { query: BY_TEXT, sort: IN_ORDER } };
  for await (const page of client.helpers.scrollSearch(search)) ids.push(page.body.hits.hits.map((hit) => hit._id));
  return ids;
}

async function scrollDocumentsHelper(client) {
  const found = [];
  const search = { index: INDEX, size: 25, body: { query: BY_TEXT, sort: IN_ORDER } };
  for await (const one of client.helpers.scrollDocuments(search)) found.push(one);
  return found;
}

function searchHelper(client) {
  return client.helpers.search({ index: INDEX, body: { query: BY_TEXT, sort: ["n"], size: 4 } });
}

function msearchHelper(client) {
  return manySearches(client, [
    [{ index: INDEX }, { query: BY_TEXT, sort: ["n"] }],
    [{ index: `${INDEX}-none` }, { query: BY_TEXT }],
    [{ index: INDEX }, { size: 0, aggs: { tags: { terms: { field: "tag" } } } }],
  ]);
}

function searchHelperByText(client) {
  return client.helpers.search({ index: WORDS, body: { query: ANY_CHAT } });
}

function msearchHelperByText(client) {
  return manySearches(client, [
    [{ index: WORDS }, { query: ANY_CHAT }],
    [{ index: WORDS }, { query: ANY_CHAT, sort: ["n"] }],
  ]);
}

async function manySearches(client, searches) {
  const helper = client.helpers.msearch({ operations: searches.length, concurrency: 1 });
  const asked = searches.map(([header, body]) =>
    helper.search(header, body).then(
      (found) => found.body,
      (error) => ({ raised: error.name, status: error.statusCode ?? null }),
    ));
  const found = await Promise.all(asked);
  helper.stop();
  return found;
}

/** opensearch-js gives the answer with its status and headers, elasticsearch-js its body alone. */
function unwrapped(given) {
  return given?.meta && "statusCode" in given ? given.body : given;
}

module.exports = { CALLS, HELPERS, OWN_CALLS, PREPARATION, RE_RANKED, unwrapped };
