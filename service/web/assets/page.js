// The page: finds its elements, connects its parts and refreshes them.

import { Answer } from "./answer.js";
import { Api } from "./api.js";
import { Collections } from "./collections.js";
import { say } from "./element.js";
import { Jobs } from "./jobs.js";
import { poll } from "./poll.js";
import { Search } from "./search.js";
import { Throughput } from "./throughput.js";
import { askToken } from "./token.js";

const byId = (id) => document.getElementById(id);

const api = new Api(document.baseURI, sessionStorage);

const collections = new Collections(api, byId("collection-list"), byId("collections-status"));
const answer = new Answer({
  section: byId("answer"),
  summary: byId("summary"),
  problem: byId("problem"),
  found: byId("found"),
  rows: byId("rows"),
  looks: byId("looks"),
  looksTable: byId("looks-table"),
  looksDetails: byId("looks-details"),
  certificate: byId("certificate"),
});
new Search(api, byId("search"), collections, answer);

const jobs = new Jobs(api, byId("job-list"), byId("jobs-status"), byId("jobs-news"));
const throughput = new Throughput(api, {
  rate: byId("rate"),
  read: byId("read"),
  total: byId("total"),
  spark: byId("spark"),
});

async function version() {
  const v = await api.get("v1/version");
  say(byId("version"), [v.version?.version ?? v.version, v.backend, v.device].filter(Boolean).join(", "));
  return 60_000;
}

const polls = [
  poll(() => collections.refresh(), 5000),
  poll(() => jobs.refresh(), 5000),
  poll(() => throughput.refresh(), 2000),
  poll(version, 60_000),
];

askToken(api, byId("token-open"), () => polls.forEach((p) => p.now()));
