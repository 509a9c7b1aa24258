// How a tournament stands: leader, error bound of the moment, eliminations, winner.

import { element, quoted, say, table } from "./element.js";
import { count, figure, plural, share } from "./number.js";

// Standing shows the state of the open tournament.
export class Standing {
  #at;

  constructor(at) {
    this.#at = at;
  }

  // clear shows none, until that of a tournament which was opened is known.
  clear() {
    for (const node of [this.#at.status, this.#at.close, this.#at.notes]) say(node, "");
    this.#at.close.hidden = this.#at.table.hidden = true;
    this.#at.table.replaceChildren();
  }

  // show shows the state of tournament t. The answer to a report lacks the standings, which then stay.
  show(t, state) {
    say(this.#at.status, `${summary(t, state)} ${tally(state)}`);
    const close = standoff(t, state.standoff);
    this.#at.close.hidden = !close;
    say(this.#at.close, close);
    say(this.#at.notes, notes(t, state).join(" "));
    const fresh = table("Standing of all texts", headings(state), lines(t, state));
    if (fresh.isEqualNode(this.#at.table.firstChild)) return;
    this.#at.table.hidden = false;
    this.#at.table.replaceChildren(fresh);
  }
}

// tally counts the judgments that were made, with those that do not count yet.
function tally(state) {
  const waiting = state.waiting ? `, of which ${count(state.waiting)} ${state.waiting === 1 ? "waits" : "wait"} for earlier ones` : "";
  const ties = state.ties ? `, ${plural(state.ties, "tie")} among them` : "";
  const undone = state.undone ? `, ${plural(state.undone, "undo")}` : "";
  return `${plural(state.duels + state.waiting, "judgment")}${waiting}${ties}${undone}.`;
}

function summary(t, state) {
  const premise = premiseOf(t);
  if (state.ranking) {
    const { safe, pairs, failure } = state.ranking;
    return `${count(safe)} of ${plural(pairs, "pair")} known. ${sentence(`${premise}the places hold`)}, ${wrong(failure)}.`;
  }
  if (state.copeland) {
    const { winners, known, circle, failure } = state.copeland;
    const none = circle ? " Every text is beaten by another: none is best." : "";
    return `${known ? "Beat the most others" : "May beat the most others"}: ${winners.map(quoted).join(", ")}; ${wrong(failure)}.${none}`;
  }
  const who = state.done ? `The winner is ${quoted(state.winner)}` : `${quoted(state.leader)} leads`;
  const g = state.guarantee;
  return g ? `${who}: ${premise}it is ${within(g)}, ${wrong(g.failure)}.` : `${who}; nothing is sure${state.done ? "" : " yet"}.`;
}

const wrong = (failure) => `wrong with probability at most ${figure(failure)}`;
const within = (g) => (g.epsilon > 0 ? `within ${figure(g.epsilon)} of the best` : "the best");
const sentence = (text) => text[0].toUpperCase() + text.slice(1);

// premiseOf begins a statement that is only as good as what it assumes, "" if it assumes nothing.
function premiseOf(t) {
  if (!t.assumes) return "";
  if (t.algorithm === "anytime") return "if some text is unbeaten, ";
  if (t.algorithm === "rank") return "if in some order no text is beaten by a later one, ";
  return `assuming ${t.assumes}, `;
}

function standoff(t, s) {
  if (!s) return "";
  const needed = s.needed ? `About ${count(s.needed - s.duels)} more judgments of the two are needed` : "More judgments are needed than can be made";
  const never = t.epsilon ? "" : "; if they are equal, this never ends";
  return `Hard to tell apart: ${quoted(s.a)} won ${count(s.wins)} of ${count(s.duels)} against ${quoted(s.b)}, ${share(s.p)} in [${share(s.low)}, ${share(s.high)}]. ${needed}${never}. You may stop here with what is sure by now.`;
}

// notes explains the words of the summary.
function notes(t, state) {
  return [
    t.assumes && t.algorithm === "anytime" && state.guarantee
      ? "Unbeaten is a text to which no other is preferred more often than not. If there is none, because each is beaten by another, nothing is promised of this one."
      : "",
    state.waiting ? "Judgments count in the order in which their pairs were drawn. An earlier pair is skipped or with another judge." : "",
    lean(state.lean),
  ].filter(Boolean);
}

function headings(state) {
  if (state.ranking) return ["Text", "Place", "Wins", "Duels"];
  if (state.copeland) return ["Text", "Beats", "Wins", "Duels"];
  return ["Text", "Wins", "Duels", "Rate", "State"];
}

const range = (low, high) => (low === high ? figure(low) : `${figure(low)}–${figure(high)}`);

// lines returns the rows of the table.
function lines(t, state) {
  const standing = new Map((state.standings ?? t.state.standings ?? []).map((x) => [x.arm, x]));
  const record = (arm) => [count(standing.get(arm)?.wins ?? 0), count(standing.get(arm)?.duels ?? 0)];
  const named = (arm) => element("span", {}, arm); // no figure, whatever it begins with
  if (state.ranking) return state.ranking.places.map((p) => [named(p.arm), range(p.first, p.last), ...record(p.arm)]);
  if (state.copeland) return state.copeland.arms.map((s) => [named(s.arm), range(s.low, s.high), ...record(s.arm)]);
  const active = [...state.active].sort((a, b) => rank(state, standing, b) - rank(state, standing, a));
  const out = [...state.eliminated].reverse();
  return [
    ...active.map((arm) => [named(arm), ...record(arm), share(standing.get(arm)?.p ?? 0.5), mark(state, arm)]),
    ...out.map((e) => [named(e.arm), "", count(e.duels), share(e.p), eliminated(e)]),
  ];
}

const rank = (state, standing, arm) => (arm === state.leader ? 2 : (standing.get(arm)?.p ?? 0.5));

function mark(state, arm) {
  if (state.winner === arm) return element("strong", {}, "winner");
  return arm === state.leader ? "leads" : "in";
}

const eliminated = (e) => `out after ${plural(e.at, "judgment")}: ${quoted(e.rival)} had ${share(e.rival_p)}`;

function lean(l) {
  if (!l) return "";
  const sign = l.estimate < 0 ? "−" : "+";
  return `Lean to the text shown first: ${sign}${figure(Math.abs(l.estimate))}. The order is drawn at random, so it cancels out.`;
}
