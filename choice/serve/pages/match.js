// The judging of one tournament, two texts at a time.

import { newKey } from "./api.js";
import { quoted, say } from "./element.js";
import { judgeOf } from "./entry.js";
import { brief } from "./problem.js";

const AGAIN = 2000; // ms until duels are asked for again while all are with other judges
const READING = 250; // ms in which nobody can have read a pair and answered: a reaction to a lamp takes 200
const KEPT = "thresher-duel-"; // of the duel that this tab shows, by tournament

const HOW = "Press 1 or 2 for the better one, = if neither is.";
const EARLY = "What was pressed before the pair could be read did not count.";
const UNCOUNTED = new Map([
  ["void", "The last pair was withdrawn before it was judged: that judgment does not count."],
  ["conflicting", "The last pair was judged differently before: the first judgment stays."],
]);

// Match shows the duels of the open tournament, and reports what is chosen by a button or a key. It
// fires "state" with the tournament's state whenever it learns it.
//
// It does one thing at a time. While a judgment is on its way, and until the next pair can have been
// read, the buttons are dimmed; what is pressed then does not count, and the page says so. So no
// judgment is of a pair that was not seen.
export class Match extends EventTarget {
  #api;
  #storage;
  #judge;
  #at;
  #id = "";
  #duel = null; // on the screen
  #shown = 0; // since when, on the clock of events
  #state = null;
  #changes = 0; // reports and undos that were answered
  #busy = false;
  #pending = null; // the request to repeat after a failure: {path, body, key}
  #timer = 0;
  #keys; // buttons, by key
  #status = "";
  #notes = new Set(); // beside the status, until the next judgment

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
    this.#on(at.first, () => this.#tell({ a_won: true }));
    this.#on(at.second, () => this.#tell({ a_won: false }));
    this.#on(at.neither, () => this.#tell({ tie: true }));
    this.#on(at.skip, () => this.#tell({ skip: true }));
    this.#on(at.undo, () => this.#undo());
    document.addEventListener("keydown", (event) => this.#press(event));
    judge.addEventListener("input", () => this.#checkJudge());
  }

  // open begins to judge a tournament.
  async open(id) {
    this.#id = "";
    this.#show(null);
    this.#id = id;
    this.tournament = null;
    this.#state = null;
    this.#pending = null;
    this.#notes.clear();
    this.#say("Loading …");
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
    const changes = this.#changes;
    const t = await this.#api.get(`v1/tournaments/${encodeURIComponent(id)}`);
    if (id !== this.#id || changes !== this.#changes) return; // another was opened, or it was changed meanwhile
    this.tournament = t;
    this.#learn(t.state);
  }

  #learn(state) {
    this.#state = state;
    this.#at.undo.disabled = state.undoable.length === 0;
    if (state.done) {
      this.#show(null);
      this.#say(state.ranking || state.copeland ? `Done: ${state.end}.` : `${quoted(state.winner)} is the winner.`);
    }
    this.dispatchEvent(new CustomEvent("state", { detail: state }));
  }

  // say shows a status, and the notes until the next judgment.
  #say(status) {
    this.#status = status;
    say(this.#at.status, [status, ...this.#notes].join(" "));
  }

  #note(note) {
    this.#notes.add(note);
    this.#say(this.#status);
  }

  // run does one thing at a time and shows its problem.
  async #run(task) {
    if (this.#busy) return;
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#block(true);
    this.#at.problem.replaceChildren();
    const id = this.#id;
    try {
      await task();
      if (this.#duel) await pause(this.#shown + READING - performance.now());
    } catch (problem) {
      if (id === this.#id) this.#fail(problem);
    } finally {
      this.#block(false);
    }
    if (id !== this.#id) this.open(this.#id); // chosen meanwhile
  }

  // block dims the buttons while one is at work. They stay focused, as disabled ones would not.
  #block(busy) {
    this.#busy = busy;
    for (const node of [this.#at.section, ...this.#keys.values()]) {
      const name = node === this.#at.section ? "aria-busy" : "aria-disabled";
      if (busy) node.setAttribute(name, "true");
      else node.removeAttribute(name);
    }
  }

  #fail(problem) {
    this.#at.problem.replaceChildren(brief(problem));
    if (!this.#duel) this.#show(null);
    if (this.tournament === null) this.#say("This tournament cannot be judged.");
    if (problem.field === "judge") this.#judge.focus();
  }

  // post sends a request again under the same key if it failed without an answer.
  async #post(path, body) {
    const same = this.#pending?.path === path && JSON.stringify(this.#pending.body) === JSON.stringify(body);
    if (!same) this.#pending = { path, body, key: newKey() };
    const at = `v1/tournaments/${encodeURIComponent(this.#id)}/${path}`;
    const answer = await this.#api.post(at, body, undefined, path === "next" || path === "undo" ? this.#pending.key : undefined);
    this.#pending = null;
    return answer;
  }

  // change posts what changes the state, and learns the state from the answer.
  async #change(path, body) {
    const answer = await this.#post(path, body);
    this.#changes++;
    this.#forget(); // an undo may have withdrawn it
    this.#learn(answer);
    return answer;
  }

  #named(body) {
    const judge = judgeOf(this.#judge);
    return judge ? { ...body, judge } : body;
  }

  // checkJudge shows at once what is wrong with the judge's name.
  #checkJudge() {
    this.#judge.removeAttribute("aria-invalid");
    this.#at.problem.replaceChildren();
    try {
      judgeOf(this.#judge);
    } catch (problem) {
      this.#judge.setAttribute("aria-invalid", "true");
      this.#at.problem.replaceChildren(brief(problem));
    }
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
      this.#say("All duels are with other judges; asking again soon.");
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
    this.#shown = performance.now();
    this.#at.body.hidden = duel === null;
    if (!this.#id) return;
    if (duel === null) {
      this.#storage.removeItem(KEPT + this.#id);
      return;
    }
    this.#storage.setItem(KEPT + this.#id, JSON.stringify(duel));
    say(this.#at.firstText, duel.a);
    say(this.#at.secondText, duel.b);
    this.#say(HOW);
  }

  // tell reports what was chosen. A duel that was withdrawn meanwhile does not count.
  #tell(what) {
    const duel = this.#duel;
    if (!duel) return undefined;
    this.#notes.clear();
    return this.#run(async () => {
      try {
        const { receipts } = await this.#change("report?lenient=true", [this.#named({ duel_id: duel.duel_id, ...what })]);
        const uncounted = UNCOUNTED.get(receipts[0].status);
        if (uncounted) this.#note(uncounted);
      } catch (problem) {
        if (problem.status === 404) this.#forget(); // kept by the tab, but the server has lost it
        throw problem;
      }
      await this.#goOn();
    });
  }

  // undo takes back the last judgment, if no other judge has judged since it was shown.
  #undo() {
    const last = this.#state?.undoable?.[0];
    if (last === undefined) return undefined;
    this.#notes.clear();
    return this.#run(async () => {
      try {
        await this.#change("undo", { duel_id: last });
      } catch (problem) {
        this.#pending = null;
        if (problem.status === 409) await this.#read(this.#id);
        throw problem;
      }
      await this.#goOn();
    });
  }

  // goOn shows the next pair, and meanwhile reads what answers to changes lack.
  async #goOn() {
    await this.#next();
    await this.#read(this.#id);
  }

  #on(button, choose) {
    button.addEventListener("click", (event) => {
      if (this.#tooEarly(event)) this.#note(EARLY);
      else choose();
    });
  }

  // tooEarly reports whether an event came while the buttons were dimmed, or waited to be handled since
  // before the pair was shown.
  #tooEarly(event) {
    return this.#busy || (this.#duel !== null && event.timeStamp < this.#shown + READING);
  }

  #press(event) {
    const typing = event.target.closest("input, textarea, select, dialog");
    const button = this.#keys.get(event.key.toLowerCase());
    if (!button || typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    event.preventDefault();
    if (this.#tooEarly(event)) this.#note(EARLY);
    else if (!button.disabled && (button === this.#at.undo || !this.#at.body.hidden)) button.click();
  }
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
