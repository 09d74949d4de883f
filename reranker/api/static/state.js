// What is asked for: in the form, in the address of the page (a link keeps it whole), and as bodies of requests.

const CHOICES = ["language", "target", "first_stage", "depth", "method", "index"];
const NUMBERS = ["epsilon", "tau", "share"];
const DEFAULT_TAU_SHARE = 0.5; // tau = epsilon
// tau acts where the document's weights are a wish instead of a law.
const METHODS_WITH_TAU = ["relaxed"];
const METHODS_WITH_EPSILON = ["sinkhorn", "relaxed", "auto"];
const METHODS_WITH_SHARE = ["auto"];

// What the service is set to, which is not sent; undefined where nothing is set.
function settingOf(form, name) {
  const { setting } = form.elements[name].dataset;
  return setting === undefined ? undefined : Number(setting);
}

// The sliders are even in log10(epsilon), and in the share tau / (tau + epsilon).
function sliderValues(form) {
  const moved = Number((10 ** Number(form.elements.epsilon.value)).toPrecision(2));
  const epsilon = isMoved(form, "epsilon") ? moved : settingOf(form, "epsilon");
  const share = Number(form.elements.tau.value);
  if (!isMoved(form, "tau")) return { epsilon, tau: settingOf(form, "tau") ?? epsilon };
  return { epsilon, tau: Number(((epsilon * share) / (1 - share)).toPrecision(2)) };
}

// A slider has no place for each number, so the setting stands as long as it is where `resetSliders` put it.
function isMoved(form, name) {
  return form.elements[name].value !== form.elements[name].dataset.unmoved;
}

export function resetSliders(form) {
  const [epsilon, tau] = [settingOf(form, "epsilon"), settingOf(form, "tau")];
  form.elements.epsilon.value = Math.log10(epsilon);
  form.elements.tau.value = tau === undefined ? DEFAULT_TAU_SHARE : tau / (tau + epsilon);
  for (const name of ["epsilon", "tau"]) form.elements[name].dataset.unmoved = form.elements[name].value;
  setShare(form, undefined);
  showSliders(form);
}

// Undefined: that of the settings, or else the documented shares, which depend on the query.
export function setShare(form, share) {
  form.elements.share.value = share ?? settingOf(form, "share") ?? 0.5;
  form.elements.share.classList.toggle("unset", share === undefined);
}

function shareOf(form) {
  const slider = form.elements.share;
  return slider.disabled || slider.classList.contains("unset") ? undefined : Number(slider.value);
}

export function showSliders(form) {
  const method = form.elements.method.value;
  const { epsilon, tau } = sliderValues(form);
  const given = form.elements.share.classList.contains("unset") ? settingOf(form, "share") : form.elements.share.value;
  const share = given === undefined ? "as recommended" : `${Math.round(100 * given)} %`;
  showSlider(form, "epsilon", METHODS_WITH_EPSILON.includes(method), epsilon);
  showSlider(form, "tau", METHODS_WITH_TAU.includes(method), tau);
  showSlider(form, "share", METHODS_WITH_SHARE.includes(method), share);
}

function showSlider(form, name, isUsed, value) {
  const shown = isUsed ? String(value) : `not used by ${form.elements.method.value}`;
  form.elements[name].disabled = !isUsed;
  form.elements[name].setAttribute("aria-valuetext", shown);
  form.elements[`${name}_shown`].value = shown;
}

// `fields`: of an index that is not ours, as the engine writes them: ["title^3", "body"].
export function readForm(form, fields) {
  const state = { query: form.elements.query.value.trim() };
  for (const name of CHOICES) state[name] = form.elements[name]?.value ?? "";
  const { epsilon, tau } = sliderValues(form);
  if (!form.elements.epsilon.disabled && isMoved(form, "epsilon")) state.epsilon = epsilon;
  if (!form.elements.tau.disabled && isMoved(form, "tau")) state.tau = tau;
  const share = shareOf(form);
  if (share !== undefined) state.share = share;
  if (fields.length > 0) state.fields = fields.join(",");
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
  const epsilon = state.epsilon ?? settingOf(form, "epsilon");
  if (state.epsilon !== undefined) form.elements.epsilon.value = Math.log10(epsilon);
  if (state.tau !== undefined) form.elements.tau.value = state.tau / (state.tau + epsilon);
  if (state.share !== undefined && state.share <= 1) setShare(form, state.share);
  showSliders(form);
}

export function readAddress() {
  const given = new URLSearchParams(window.location.search);
  const state = Object.fromEntries(["query", "fields", ...CHOICES].map((name) => [name, given.get(name) ?? undefined]));
  for (const name of NUMBERS) {
    const value = Number(given.get(name));
    if (given.has(name) && Number.isFinite(value) && value >= 0) state[name] = value;
  }
  const page = Number.parseInt(given.get("page") ?? "1", 10);
  return { state, page: page > 0 ? page : 1, hit: given.get("hit") };
}

// A new query is a step in the browser's history; all else belongs to the step.
export function writeAddress(state, page, hit) {
  const kept = new URLSearchParams(Object.entries(state).filter(([, value]) => value !== "" && value !== undefined));
  if (page > 1) kept.set("page", page);
  if (hit) kept.set("hit", hit);
  const before = readAddress().state.query;
  window.history[before && before !== state.query ? "pushState" : "replaceState"](null, "", `?${kept}`);
}

// How the order is made, as `/v1/search` and `ext.rerank` both name it.
export function orderOptions(state) {
  const options = {};
  for (const name of ["language", "method", "epsilon"]) if (state[name]) options[name] = state[name];
  if (state.tau !== undefined) options.tau = state.tau;
  if (state.share !== undefined) options.first_stage_share = state.share;
  return options;
}

export function searchBody(state) {
  const depth = Number(state.depth);
  const body = { query: state.query, depth, size: depth, ...orderOptions(state) };
  for (const name of ["first_stage", "index"]) if (state[name]) body[name] = state[name];
  if (state.target) body.languages = [state.target];
  return body;
}

export function explainBody(state, hitId) {
  const { size, ...search } = searchBody(state);
  return { ...search, id: hitId };
}
