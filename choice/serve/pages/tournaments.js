// The page of tournaments: finds its elements, connects its parts and refreshes them.

import { Api } from "./api.js";
import { Choice } from "./choice.js";
import { Creation } from "./creation.js";
import { Match } from "./match.js";
import { poll } from "./poll.js";
import { Standing } from "./standing.js";
import { askToken } from "./token.js";

const byId = (id) => document.getElementById(id);

const api = new Api(new URL("../", document.baseURI), sessionStorage);

const standing = new Standing({
  status: byId("standing-status"),
  close: byId("standing-close"),
  table: byId("standing-table"),
  notes: byId("standing-notes"),
});
const match = new Match(api, sessionStorage, byId("judge"), {
  section: byId("match"),
  status: byId("match-status"),
  problem: byId("match-problem"),
  body: byId("match-body"),
  first: byId("first"),
  firstText: byId("first-text"),
  second: byId("second"),
  secondText: byId("second-text"),
  neither: byId("neither"),
  skip: byId("skip-duel"),
  undo: byId("undo"),
});
match.addEventListener("state", (event) => standing.show(match.tournament, event.detail));

const choice = new Choice(api, byId("choice-list"), byId("choice-status"));
const list = poll(() => choice.refresh(), 10_000);

new Creation(api, byId("create"), byId("create-problem"), (made) => {
  location.hash = made.id;
  list.now();
});

function choose() {
  const id = decodeURIComponent(location.hash.slice(1));
  choice.mark(id);
  if (!id.startsWith("tournament_")) return;
  if (match.tournament?.id !== id) standing.clear();
  match.open(id);
}
addEventListener("hashchange", choose);
choose();

const state = poll(() => match.refresh(), 5000);

askToken(api, byId("token-open"), () => {
  list.now();
  choose();
  state.now();
});
