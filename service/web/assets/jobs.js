// The offline jobs, newest first.

import { downloads } from "./download.js";
import { element, say } from "./element.js";
import { count, plural, share, short, span } from "./number.js";

const SHOWN = 20;
const FINAL = new Set(["completed", "failed", "expired", "cancelled"]);

// Jobs lists the newest jobs and announces when one ends.
export class Jobs {
  #api;
  #list;
  #status;
  #news;
  #known = new Map(); // by id: {entry, ..} and the status last seen

  constructor(api, list, status, news) {
    this.#api = api;
    this.#list = list;
    this.#status = status;
    this.#news = news;
  }

  // refresh reads the jobs; while one runs it returns the time to the next refresh.
  async refresh() {
    let page;
    try {
      page = await this.#api.get(`v1/batches?limit=${SHOWN}`);
    } catch (problem) {
      say(this.#status, `${problem.title}.`);
      throw problem;
    }
    const ids = new Set(page.data.map((b) => b.id));
    for (const [id, job] of this.#known) {
      if (ids.has(id)) continue;
      job.entry.remove();
      this.#known.delete(id);
    }
    page.data.forEach((b, at) => this.#show(b, at));
    const running = page.data.filter((b) => !FINAL.has(b.status)).length;
    const shown = page.has_more ? `The newest ${page.data.length}. ` : "";
    say(
      this.#status,
      page.data.length
        ? `${shown}${running || "None"} at work or waiting.`
        : "No jobs: POST /v1/batches or thresher job submit starts one.",
    );
    return running > 0 ? 1000 : undefined;
  }

  #show(b, at) {
    let job = this.#known.get(b.id);
    if (!job) {
      job = entry(b.id);
      this.#known.set(b.id, job);
    } else if (job.status !== b.status && FINAL.has(b.status)) {
      say(this.#news, `Job ${b.id} is ${b.status}.`);
    }
    job.status = b.status;
    job.entry.dataset.status = b.status;
    say(job.state, b.status.replace("_", " "));
    say(job.what, what(b));
    say(job.figures, rates(b));
    downloads(this.#api, job.files, [
      ["answers", b.output_file_id],
      ["errors", b.error_file_id],
    ]);
    const { total, completed, failed } = b.request_counts;
    if (total > 0) {
      job.bar.max = total;
      job.bar.value = completed + failed;
    } else if (FINAL.has(b.status) || b.progress?.position > 0) {
      job.bar.value = 0;
    } else {
      job.bar.removeAttribute("value"); // at work on what has no measure yet
    }
    if (this.#list.children[at] !== job.entry) this.#list.insertBefore(job.entry, this.#list.children[at] ?? null);
  }
}

function entry(id) {
  const state = element("span", { class: "state" });
  const what = element("span");
  const bar = element("progress", { "aria-label": `Progress of job ${id}` });
  const figures = element("p", { class: "figures" });
  const files = element("p", { class: "files" });
  const name = element("p", { class: "name" }, what, " ", state);
  return { entry: element("li", {}, name, element("code", {}, id), bar, figures, files), state, what, bar, figures, files };
}

function what(b) {
  const names = (b.collections ?? []).map((c) => `${c.name}, version ${c.version}`).join("; ") || b.endpoint;
  const errors = b.errors?.data?.map((e) => e.message).join(" ") ?? "";
  return errors ? `${names}: ${errors}` : names;
}

function rates(b) {
  const { total, completed, failed } = b.request_counts;
  const { position = 0, queries_per_second: rate = 0, saving = 0, seconds_left: left = null } = b.progress ?? {};
  const parts = [
    total > 0
      ? `${count(completed + failed)} of ${plural(total, "request")}`
      : FINAL.has(b.status)
        ? "not counted"
        : "not counted yet",
  ];
  if (failed > 0) parts.push(`${count(failed)} failed`);
  if (position > 0) parts.push(`${plural(position, "job")} before it`);
  if (rate > 0) parts.push(`${short(rate)} queries/s`);
  if (saving > 0 && !(failed > 0 && completed === 0)) parts.push(`${share(1 / saving)} of the data read`);
  if (left !== null && !FINAL.has(b.status)) parts.push(`${span(left)} left`);
  return parts.join(" · ");
}
