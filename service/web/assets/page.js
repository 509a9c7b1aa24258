// The page: finds its elements, connects its parts and refreshes them.

import { Answer } from "./answer.js";
import { Api } from "./api.js";
import { Collections } from "./collections.js";
import { askDeletion } from "./deletion.js";
import { element, say } from "./element.js";
import { Intake } from "./intake.js";
import { Jobs } from "./jobs.js";
import { poll } from "./poll.js";
import { Search } from "./search.js";
import { Throughput } from "./throughput.js";
import { askToken } from "./token.js";

const byId = (id) => document.getElementById(id);

const api = new Api(document.baseURI, sessionStorage);

const collections = new Collections(api, byId("collection-list"), byId("collections-status"));
const answer = new Answer(api, {
  section: byId("answer"),
  summary: byId("summary"),
  problem: byId("problem"),
  invitation: byId("invitation"),
  found: byId("found"),
  rows: byId("rows"),
  looks: byId("looks"),
  looksTable: byId("looks-table"),
  looksDetails: byId("looks-details"),
  certificate: byId("certificate"),
});
const invitation = element(
  "div",
  { class: "notice" },
  element("h3", {}, "There is no collection yet"),
  element("p", {}, "Drop a file of vectors anywhere on this page, or choose one under “Your data”. By the command line:"),
  element("p", {}, element("code", {}, `curl -T vectors.npy '${new URL("v1/collections/mine?metric=cosine", document.baseURI)}'`)),
  element("p", {}, "A server that is started with ", element("code", {}, "--demo"), " has a collection to look at: the doc comments of Go’s standard library."),
);
const search = new Search(api, byId("search"), collections, answer, invitation);

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

const intake = new Intake(
  api,
  {
    zone: byId("zone"),
    input: byId("upload"),
    dialog: byId("intake"),
    form: byId("intake-form"),
    files: byId("intake-files"),
    problem: byId("intake-problem"),
    progress: byId("intake-progress"),
    status: byId("intake-status"),
    outcome: byId("intake-outcome"),
    news: byId("data-news"),
  },
  collections,
);
intake.addEventListener("made", async ({ detail: name }) => {
  await collections.refresh();
  collections.choose(name);
  search.again();
  await search.open(collections.chosen);
});
askDeletion(api, byId("delete"), collections, () => polls[0].now());

askToken(api, byId("token-open"), () => polls.forEach((p) => p.now()));
