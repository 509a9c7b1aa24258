// The judging of one tournament, two texts at a time.

import { newKey } from "./api.js";
import { say } from "./element.js";
import { describe } from "./problem.js";

const AGAIN = 2000; // ms until duels are asked for again while all are with other judges
const KEPT = "thresher-duel-"; // of the duel that this tab shows, by tournament

// Match shows the duels of the open tournament, and reports what is chosen by a button or a key. It
// fires "state" with the tournament's state whenever it learns it.
export class Match extends EventTarget {
  #api;
  #storage;
  #judge;
  #at;
  #id = "";
  #duel = null; // on the screen
  #state = null;
  #busy = false;
  #pending = null; // the request to repeat after a failure: {path, body, key}
  #timer = 0;
  #keys; // buttons, by key

  // tournament is what was read of the open tournament, null if none is open.
  tournament = null;

  constructor(api, storage, judge, at) {
    super();
    this.#api = api;
    this.#storage = storage;
    this.#judge = judge;
    this.#at = at;
    this.#keys = new Map([
      ["1", at.first],
      ["2", at.second],
      ["=", at.neither],
      ["s", at.skip],
      ["u", at.undo],
    ]);
    at.first.addEventListener("click", () => this.#tell({ a_won: true }));
    at.second.addEventListener("click", () => this.#tell({ a_won: false }));
    at.neither.addEventListener("click", () => this.#tell({ tie: true }));
    at.skip.addEventListener("click", () => this.#tell({ skip: true }));
    at.undo.addEventListener("click", () => this.#undo());
    document.addEventListener("keydown", (event) => this.#press(event));
  }

  // open begins to judge a tournament.
  async open(id) {
    this.#id = "";
    this.#show(null);
    this.#id = id;
    this.tournament = null;
    this.#state = null;
    this.#pending = null;
    say(this.#at.status, "Loading …");
    await this.#run(async () => {
      await this.#read(id);
      const kept = this.#storage.getItem(KEPT + id);
      if (kept) this.#show(JSON.parse(kept)); // the page was loaded again
      else await this.#next();
    });
  }

  // refresh reads the state, which other judges may have changed.
  async refresh() {
    if (!this.#id || this.#busy) return;
    await this.#read(this.#id);
    if (this.#state && !this.#state.done && !this.#duel && !this.#timer) await this.#run(() => this.#next());
  }

  async #read(id) {
    const t = await this.#api.get(`v1/tournaments/${encodeURIComponent(id)}`);
    if (id !== this.#id) return; // another was opened meanwhile
    this.tournament = t;
    this.#learn(t.state);
  }

  #learn(state) {
    this.#state = state;
    this.#at.undo.disabled = state.undoable.length === 0;
    if (state.done) {
      this.#show(null);
      say(this.#at.status, state.ranking || state.copeland ? `Done: ${state.end}.` : `${state.winner} is the winner.`);
    }
    this.dispatchEvent(new CustomEvent("state", { detail: state }));
  }

  // run does one thing at a time and shows its problem.
  async #run(task) {
    if (this.#busy) return;
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#busy = true;
    this.#at.section.setAttribute("aria-busy", "true");
    this.#at.problem.replaceChildren();
    const id = this.#id;
    try {
      await task();
    } catch (problem) {
      if (id === this.#id) this.#fail(problem);
    } finally {
      this.#busy = false;
      this.#at.section.removeAttribute("aria-busy");
    }
    if (id !== this.#id) this.open(this.#id); // chosen meanwhile
  }

  #fail(problem) {
    this.#at.problem.replaceChildren(describe(problem));
    if (!this.#duel) this.#show(null);
    if (this.tournament === null) say(this.#at.status, "This tournament cannot be judged.");
  }

  // post sends a request again under the same key if it failed without an answer.
  async #post(path, body) {
    const same = this.#pending?.path === path && JSON.stringify(this.#pending.body) === JSON.stringify(body);
    if (!same) this.#pending = { path, body, key: newKey() };
    const at = `v1/tournaments/${encodeURIComponent(this.#id)}/${path}`;
    const answer = await this.#api.post(at, body, undefined, path === "report" ? undefined : this.#pending.key);
    this.#pending = null;
    return answer;
  }

  #named(body) {
    const judge = this.#judge.value.trim();
    return judge ? { ...body, judge } : body;
  }

  // next asks for the next duel, unless the tournament is done.
  async #next() {
    if (this.#state.done) return;
    const { duels, done } = await this.#post("next", this.#named({ count: 1 }));
    if (duels.length > 0) {
      this.#show(duels[0]);
    } else if (done) {
      await this.#read(this.#id);
    } else {
      this.#show(null);
      say(this.#at.status, "All duels are with other judges; asking again soon.");
      this.#timer = setTimeout(() => this.#run(() => this.#next()), AGAIN);
    }
  }

  // forget ends a duel, whose texts stay on the screen until the next is there.
  #forget() {
    this.#duel = null;
    this.#storage.removeItem(KEPT + this.#id);
  }

  // show puts a duel on the screen, null none.
  #show(duel) {
    this.#duel = duel;
    this.#at.body.hidden = duel === null;
    if (!this.#id) return;
    if (duel === null) {
      this.#storage.removeItem(KEPT + this.#id);
      return;
    }
    this.#storage.setItem(KEPT + this.#id, JSON.stringify(duel));
    say(this.#at.firstText, duel.a);
    say(this.#at.secondText, duel.b);
    say(this.#at.status, "Press 1 or 2 for the better one, = if neither is.");
  }

  // tell reports what was chosen. A duel that was withdrawn meanwhile does not count.
  #tell(what) {
    const duel = this.#duel;
    if (!duel) return undefined;
    return this.#run(async () => {
      try {
        await this.#post("report?lenient=true", [this.#named({ duel_id: duel.duel_id, ...what })]);
      } catch (problem) {
        if (problem.status === 404) this.#forget(); // kept by the tab, but the server has lost it
        throw problem;
      }
      this.#forget();
      await this.#read(this.#id);
      await this.#next();
    });
  }

  // undo takes back the last judgment, if no other judge has judged since it was shown.
  #undo() {
    const last = this.#state?.undoable?.[0];
    if (last === undefined) return undefined;
    return this.#run(async () => {
      try {
        await this.#post("undo", { duel_id: last });
        this.#forget(); // it may have been withdrawn
        await this.#read(this.#id);
      } catch (problem) {
        this.#pending = null;
        if (problem.status === 409) await this.#read(this.#id);
        throw problem;
      }
      await this.#next();
    });
  }

  #press(event) {
    const typing = event.target.closest("input, textarea, select, dialog");
    const button = this.#keys.get(event.key.toLowerCase());
    if (!button || typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    event.preventDefault();
    if (!button.disabled && (button === this.#at.undo || !this.#at.body.hidden)) button.click();
  }
}
