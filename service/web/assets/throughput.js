// Throughput of the whole server, from its metrics.

import { shape, say } from "./element.js";
import { figure, share, short } from "./number.js";

const SAMPLES = 60;

// Throughput shows the rate of queries, how much of the data they read, and the last minutes.
export class Throughput {
  #api;
  #parts;
  #before;
  #rates = [];

  // parts are the elements rate, read, total and spark.
  constructor(api, parts) {
    this.#api = api;
    this.#parts = parts;
  }

  async refresh() {
    let sums;
    try {
      sums = total(await this.#api.text("metrics"));
    } catch (problem) {
      this.#before = undefined;
      say(this.#parts.rate, "–");
      throw problem;
    }
    const now = { at: performance.now(), ...sums };
    const before = this.#before;
    this.#before = now;
    say(this.#parts.total, short(now.queries));
    say(this.#parts.read, read(now, before));
    if (!before) return;
    // counters that fell belong to a restarted server
    const rate = Math.max(0, now.queries - before.queries) / ((now.at - before.at) / 1000);
    say(this.#parts.rate, rate < 1000 ? figure(rate) : short(rate));
    this.#rates = [...this.#rates, rate].slice(-SAMPLES);
    this.#draw();
  }

  #draw() {
    const { spark } = this.#parts;
    const [width, height] = [160, 36];
    const most = Math.max(...this.#rates, 1);
    const points = this.#rates.map(
      (r, i) =>
        `${(width - 2) * (1 - (this.#rates.length - 1 - i) / (SAMPLES - 1)) + 1},${(height - 2) * (1 - r / most) + 1}`,
    );
    spark.replaceChildren(
      shape("line", { class: "grid", x1: 0, x2: width, y1: height - 1, y2: height - 1 }),
      shape("polyline", { class: "line", points: points.join(" ") }),
    );
  }
}

// total sums the metrics that the page needs over all labels of the Prometheus text.
export function total(text) {
  const sums = { thresher_queries_total: 0, thresher_pulls_total: 0, thresher_dense_pulls_total: 0 };
  for (const line of text.split("\n")) {
    const [, name, value] = line.match(/^(\w+)(?:\{.*\})? (\S+)/) ?? [];
    if (name in sums) sums[name] += Number(value);
  }
  return {
    queries: sums.thresher_queries_total,
    pulls: sums.thresher_pulls_total,
    dense: sums.thresher_dense_pulls_total,
  };
}

// read is the ratio of the coordinates read to those that dense scans would have read:
// since the last refresh if there were any, else since the start.
function read(now, before) {
  const since = before && now.pulls > before.pulls ? before : { pulls: 0, dense: 0 };
  const dense = now.dense - since.dense;
  return dense > 0 ? share((now.pulls - since.pulls) / dense) : "–";
}
