// What is asked for: in the form, in the address of the page (a link keeps it whole), and as bodies of requests.

const CHOICES = ["language", "target", "first_stage", "depth", "method", "index"];
const DEFAULT_EPSILON = 0.1;
const DEFAULT_SHARE = 0.5; // tau = epsilon
// tau acts where the document's weights are a wish instead of a law.
const METHODS_WITH_TAU = ["relaxed"];
const METHODS_WITH_EPSILON = ["sinkhorn", "relaxed", "auto"];

// The sliders are even in log10(epsilon), and in the share tau / (tau + epsilon).
function sliderValues(form) {
  const epsilon = Number((10 ** Number(form.elements.epsilon.value)).toPrecision(2));
  const share = Number(form.elements.tau.value);
  return { epsilon, tau: Number(((epsilon * share) / (1 - share)).toPrecision(2)) };
}

export function resetSliders(form) {
  form.elements.epsilon.value = Math.log10(DEFAULT_EPSILON);
  form.elements.tau.value = DEFAULT_SHARE;
  showSliders(form);
}

export function showSliders(form) {
  const method = form.elements.method.value;
  const { epsilon, tau } = sliderValues(form);
  const hasTau = METHODS_WITH_TAU.includes(method);
  const hasEpsilon = METHODS_WITH_EPSILON.includes(method);
  form.elements.epsilon.disabled = !hasEpsilon;
  form.elements.tau.disabled = !hasTau;
  form.elements.epsilon_shown.value = hasEpsilon ? epsilon : `not in ${method}`;
  form.elements.tau_shown.value = hasTau ? tau : `not in ${method}`;
}

export function readForm(form) {
  const state = { query: form.elements.query.value.trim() };
  for (const name of CHOICES) state[name] = form.elements[name]?.value ?? "";
  const { epsilon, tau } = sliderValues(form);
  const isMoved = Number(form.elements.tau.value) !== DEFAULT_SHARE;
  if (!form.elements.epsilon.disabled && epsilon !== DEFAULT_EPSILON) state.epsilon = epsilon;
  if (!form.elements.tau.disabled && isMoved) state.tau = tau;
  return state;
}

// Sets the choices that a state names, where the form offers them.
export function choose(form, state) {
  for (const name of CHOICES) {
    const field = form.elements[name];
    if (field && [...field.options].some((option) => option.value === state[name])) field.value = state[name];
  }
}

export function fillForm(form, state) {
  form.elements.query.value = state.query ?? "";
  choose(form, state);
  resetSliders(form);
  const epsilon = state.epsilon ?? DEFAULT_EPSILON;
  form.elements.epsilon.value = Math.log10(epsilon);
  if (state.tau !== undefined) form.elements.tau.value = state.tau / (state.tau + epsilon);
  showSliders(form);
}

export function readAddress() {
  const given = new URLSearchParams(window.location.search);
  const state = Object.fromEntries(["query", ...CHOICES].map((name) => [name, given.get(name) ?? undefined]));
  for (const name of ["epsilon", "tau"]) {
    const value = Number(given.get(name));
    if (given.has(name) && Number.isFinite(value) && value >= 0) state[name] = value;
  }
  const page = Number.parseInt(given.get("page") ?? "1", 10);
  return { state, page: page > 0 ? page : 1, hit: given.get("hit") };
}

export function writeAddress(state, page, hit) {
  const kept = new URLSearchParams(Object.entries(state).filter(([, value]) => value !== "" && value !== undefined));
  if (page > 1) kept.set("page", page);
  if (hit) kept.set("hit", hit);
  window.history.replaceState(null, "", `?${kept}`);
}

export function searchBody(state) {
  const depth = Number(state.depth);
  const body = { query: state.query, depth, size: depth };
  for (const name of ["language", "method", "first_stage", "index", "epsilon", "tau"]) {
    if (state[name]) body[name] = state[name];
  }
  if (state.tau === 0) body.tau = 0;
  if (state.target) body.languages = [state.target];
  return body;
}

export function explainBody(state, hitId) {
  const { size, ...search } = searchBody(state);
  return { ...search, id: hitId };
}
