// node run_calls.js DISTRIBUTION URL: makes all calls of calls.js at an address and prints how each of them went.
"use strict";

const net = require("node:net");

const { CALLS, HELPERS, OWN_CALLS, PREPARATION, RE_RANKED, unwrapped } = require("./calls.js");
const { open } = require("./client.js");

let nConnections = 0;
const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function counted(...args) {
  nConnections += 1;
  return connect.apply(this, args);
};

async function outcome(client, exchanges, call) {
  const [name, given] = typeof call === "function" ? [call.name, {}] : call;
  let result;
  try {
    result = { gave: unwrapped(await (typeof call === "function" ? call(client) : called(client, call))) };
  } catch (error) {
    result = { raised: error.name, status: error.statusCode ?? error.meta?.statusCode ?? null, message: error.message };
  }
  return { name, given, result, exchanges: exchanges.splice(0) };
}

function called(client, [name, given, options]) {
  const parts = name.split(".");
  const method = parts.pop();
  const owner = parts.reduce((one, part) => one[part], client);
  // The client writes on what it is given.
  return owner[method](structuredClone(given), options);
}

async function main([distribution, url]) {
  const { client, exchanges } = open(distribution, url);
  const sections = { calls: [...PREPARATION, ...CALLS, ...OWN_CALLS[distribution]], helpers: HELPERS, re_ranked: RE_RANKED };
  const went = {};
  for (const [section, calls] of Object.entries(sections)) {
    const before = nConnections;
    const made = [];
    for (const call of calls) made.push(await outcome(client, exchanges, call));
    went[section] = { made, n_connections: nConnections - before };
  }
  await client.close();
  process.stdout.write(JSON.stringify(went));
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
