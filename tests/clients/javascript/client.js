// The client of an engine, and what it sends and receives.
"use strict";

const zlib = require("node:zlib");

const MODULES = { opensearch: "@opensearch-project/opensearch", elasticsearch: "@elastic/elasticsearch" };

/** A client that compresses and never asks twice, and the list to which each of its exchanges is added. */
function open(distribution, url) {
  const { Client } = require(MODULES[distribution]);
  const isElastic = distribution === "elasticsearch";
  const client = new Client({ node: url, maxRetries: 0, compression: isElastic ? true : "gzip" });
  const exchanges = [];
  const events = isElastic ? client.diagnostic : client;
  events.on("response", (error, result) => {
    if (result?.statusCode) exchanges.push(exchange(result));
  });
  return { client, exchanges };
}

function exchange({ meta, statusCode, headers, body }) {
  const { method, path, querystring, body: sent } = meta.request.params;
  const isStream = typeof body?.pipe === "function";
  return {
    method,
    target: querystring ? `${path}?${querystring}` : path,
    sent: text(sent),
    status: statusCode,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    body: isStream ? "" : JSON.stringify(body) ?? "",
  };
}

function text(sent) {
  if (Buffer.isBuffer(sent)) return zlib.gunzipSync(sent).toString();
  return typeof sent === "string" ? sent : "";
}

module.exports = { open };
