// Asks the service and, through it, the engine; errors come as sentences to show.

const NOT_JSON = "What came is not JSON, so the service did not answer. Does a gateway ask you to sign in? Load the page again.";

// `status` of the answer.
export class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function post(path, body, signal) {
  return (await ask("POST", path, body, signal)).body;
}

// { body, headers } of an answer in JSON.
// `body`: a string is lines of JSON.
export async function ask(method, path, body, signal) {
  const isLines = typeof body === "string";
  let response;
  try {
    // Not relative to the page: its address may hold a user and a password, which `fetch` refuses.
    response = await fetch(new URL(path, window.location.origin), {
      method,
      headers: body === undefined ? {} : { "Content-Type": isLines ? "application/x-ndjson" : "application/json" },
      body: isLines ? body : JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The service does not answer. Is it still running? Start it with: sinkrank serve");
  }
  const found = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return null;
  });
  if (!response.ok) throw new Refusal(reason(found, response.status), response.status);
  if (found === null) throw new Refusal(NOT_JSON, response.status);
  return { body: found, headers: response.headers };
}

function reason(found, status) {
  if (status === 401) return "You are asked who you are, and the answer was not accepted (401). Load the page again to sign in.";
  if (status === 403) return "The engine does not let you do this (403). Ask its administrator for the right to read the index.";
  const error = found?.error;
  const told = found?.detail ?? error?.root_cause?.[0]?.reason ?? error?.reason ?? (typeof error === "string" ? error : null);
  return told ?? `The service answered ${status}.`;
}
