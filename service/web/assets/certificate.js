// An answer's certificate as sentences.

import { bytes, count, figure, plural, score, share } from "./number.js";

// explain returns pairs of a heading and sentences. looks are those of the search, found is
// the number of rows in the answer, metric is a result of metricOf.
export function explain(c, looks, found, metric) {
  const parts = [
    ["Promise", promise(c, found) + rounded(c)],
    ["Read", read(c, looks.length)],
    ["How", how(c, looks[0])],
  ];
  if (c.stopped_by !== "done") parts.unshift(["Incomplete", stopped(c, metric)]);
  return parts;
}

function promise(c, found) {
  const best = found === 1 ? "This is the best row" : `These are the ${count(found)} best rows`;
  const gap = c.epsilon > 0 ? `, or at most ${figure(c.epsilon)} below them` : "";
  if (c.guarantee === "bound" || c.stopped_by !== "done")
    return "None beyond the bound above: these are the best of the rows scanned.";
  switch (c.guarantee) {
    case "exact":
      return `Exact. ${best}: every row was scored in full.`;
    case "certain":
      return `Certain. ${best}${gap}: rows were dropped only by bounds that always hold.`;
    case "probabilistic":
      return c.exact
        ? `${best}${gap}. A failure probability of ${figure(c.delta)} was allowed but not used: no row was dropped by a probabilistic bound.`
        : `Probabilistic. ${best}${gap}, except with probability at most ${figure(c.delta)} over the ${chance(c.method)}.${ground(c.law)}`;
    default:
      return "Heuristic. The method guarantees nothing; check its answers against the method exact.";
  }
}

// rounded says by how much coordinates were changed that float32 does not hold.
function rounded(c) {
  const largest = Math.max(c.vectors_change ?? 0, c.query_change ?? 0);
  return largest > 0 ? ` This holds for coordinates rounded to float32, which changed none by more than ${figure(largest)}.` : "";
}

// chance names the randomness of a probabilistic guarantee.
const chance = (method) =>
  method === "adaptive" ? "random rotation of the space" : "random order in which coordinates are read";

// ground says what a probabilistic guarantee rests on.
function ground(law) {
  switch (law) {
    case "haar":
    case "order":
      return " That is proven.";
    case "calibrated":
      return " That is checked by simulation, not proven.";
    case "published":
      return " That is the claim of the method’s paper.";
    case "assumed":
      return " That holds if the given sigma is valid for the data.";
    default:
      return "";
  }
}

// read says how many coordinates were read, and why if there were more than a dense scan of the rows allowed reads.
function read(c, looks) {
  if (c.pulls === undefined) return "Shown only with a write token: it depends on the collection’s secret seed.";
  const scored = `${plural(c.rows_scored, "row")} ${c.rows_scored === 1 ? "was" : "were"} scored in full.`;
  if (c.pulls > c.dense_pulls)
    return `${count(c.pulls)} coordinates: more than the ${count(c.dense_pulls)} of the rows that may be returned, because ${
      looks > 0
        ? "a row’s codes can be more than its coordinates (first those of the leading directions, often 32, then those of all that remains: 96 of a row of 64), and looks read 64 rows together"
        : "a dense scan reads the others too"
    } (${bytes(c.bytes)}). ${scored}`;
  if (c.pulls === c.dense_pulls)
    return `All ${count(c.pulls)} coordinates, as a dense scan does (${bytes(c.bytes)}). ${scored}`;
  const less = c.pulls > 0 ? `, ${figure(c.dense_pulls / c.pulls)} times fewer` : "";
  return `${count(c.pulls)} of the ${count(c.dense_pulls)} coordinates that a dense scan reads: ${share(c.pulls / c.dense_pulls)}${less} (${bytes(c.bytes)}). ${scored}`;
}

function how(c, first) {
  const forecast =
    c.predicted_survivors > 0 && first?.seen > 0
      ? ` The planner expected ${share(c.predicted_survivors)} of the rows to pass the first look; ${share(first.survivors / first.seen)} did.`
      : "";
  const fallback = c.fallback ? ` A different plan than requested was used: ${c.fallback}.` : "";
  return `Method ${c.method}${c.plan ? `, plan ${c.plan}` : ""}${c.backend ? `, on ${c.backend}` : ""}.${forecast}${fallback}`;
}

function stopped(c, metric) {
  const why = c.stopped_by === "deadline" ? "The deadline passed" : "The search was cancelled";
  const open =
    c.open_bound === null || c.open_bound === undefined
      ? "nothing is known about the rows not reached"
      : `an unresolved row may ${metric.reach} ${score(metric.shown(c.open_bound))}`;
  const reached =
    c.threshold === null || c.threshold === undefined
      ? ""
      : `; the lowest of those found has ${score(metric.shown(c.threshold))}`;
  return `${why} before the answer was complete: ${open}${reached}.`;
}
