// The page of slates: finds its elements and connects its parts.

import { Api } from "./api.js";
import { poll } from "./poll.js";
import { Settings } from "./settings.js";
import { Slate } from "./slate.js";
import { SlateRequest } from "./slaterequest.js";
import { askToken } from "./token.js";

const byId = (id) => document.getElementById(id);

const api = new Api(new URL("../", document.baseURI), sessionStorage);

const slate = new Slate(api, {
  status: byId("slate-status"),
  form: byId("feedback"),
  rows: byId("slate-rows"),
  seen: byId("seen"),
  problem: byId("feedback-problem"),
  notes: byId("slate-notes"),
});
const settings = new Settings(api, {
  form: byId("settings"),
  status: byId("settings-status"),
  text: byId("settings-text"),
  problem: byId("settings-problem"),
});
const request = new SlateRequest(
  api,
  {
    form: byId("request"),
    collection: byId("collection"),
    status: byId("collection-status"),
    news: byId("request-status"),
    forget: byId("forget"),
    problem: byId("request-problem"),
  },
  slate,
);
request.addEventListener("collection", () => settings.show(request.collection));
for (const part of [request, slate]) part.addEventListener("changed", () => settings.refresh());

const list = poll(() => request.refresh(), 10_000);
askToken(api, byId("token-open"), () => {
  list.now();
  settings.show(request.collection);
});
