// How good two orders are by judgments, and whether their difference is more than chance.

const CUT = 10;
const N_RESAMPLES = 10000;
// 2^n patterns are all tried up to here.
const MAX_EXACT = 13;

// `documents`: id → relevance, over 0 is relevant; a hit without a judgment counts as not relevant.
export function ndcg(ranking, documents, cut = CUT) {
  const ideal = Object.values(documents).filter((grade) => grade > 0).sort((left, right) => right - left);
  const best = gain(ideal.slice(0, cut));
  return best === 0 ? 0 : gain(ranking.slice(0, cut).map((id) => Math.max(0, documents[id] ?? 0))) / best;
}

function gain(grades) {
  return grades.reduce((sum, grade, i) => sum + grade / Math.log2(i + 2), 0);
}

// 1 / rank of the first relevant one; 0 where the first `cut` hold none.
export function reciprocalRank(ranking, documents, cut = CUT) {
  const place = ranking.slice(0, cut).findIndex((id) => (documents[id] ?? 0) > 0);
  return place < 0 ? 0 : 1 / (place + 1);
}

// The two-sided p-value of a mean difference between pairs: the share of sign patterns whose mean is at least as far
// from 0 (Smucker, Allan and Carterette 2007). All patterns are tried for few differences, else 10,000 at random.
export function randomisationP(differences) {
  const changed = differences.filter((difference) => difference !== 0);
  const seen = Math.abs(changed.reduce((sum, value) => sum + value, 0));
  const isAsFar = (sum) => Math.abs(sum) >= seen * (1 - 1e-9);
  if (changed.length <= MAX_EXACT) {
    const n = 2 ** changed.length;
    let count = 0;
    for (let pattern = 0; pattern < n; pattern += 1) {
      count += isAsFar(changed.reduce((sum, value, i) => sum + ((pattern >> i) & 1 ? value : -value), 0));
    }
    return count / n;
  }
  const random = generator(2018);
  let count = 1; // the one that was seen
  for (let turn = 1; turn < N_RESAMPLES; turn += 1) {
    count += isAsFar(changed.reduce((sum, value) => sum + (random() < 0.5 ? value : -value), 0));
  }
  return count / N_RESAMPLES;
}

// Numbers from 0 to 1, the same for the same seed (mulberry32).
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// `queries`: [{ before, after, documents }], each with a relevant document; rankings are lists of ids.
export function compareOrders(queries) {
  return {
    n: queries.length,
    ndcg: compareBy(queries, ndcg),
    rr: compareBy(queries, reciprocalRank),
  };
}

function compareBy(queries, measure) {
  const before = queries.map((query) => measure(query.before, query.documents));
  const after = queries.map((query) => measure(query.after, query.documents));
  const differences = after.map((value, i) => value - before[i]);
  return {
    before: mean(before),
    after: mean(after),
    difference: mean(differences),
    p: randomisationP(differences),
    won: differences.filter((value) => value > 0).length,
    lost: differences.filter((value) => value < 0).length,
    tied: differences.filter((value) => value === 0).length,
  };
}

function mean(values) {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
