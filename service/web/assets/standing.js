// How a tournament stands: leader, error bound of the moment, eliminations, winner.

import { element, say, table } from "./element.js";
import { count, figure, plural, share } from "./number.js";

// Standing shows the state of the open tournament.
export class Standing {
  #at;
  #last = "";

  constructor(at) {
    this.#at = at;
  }

  // show shows the state of tournament t. The answer to a report lacks the standings, which then stay.
  show(t, state) {
    say(this.#at.status, headline(t, state));
    const close = standoff(t, state.standoff);
    this.#at.close.hidden = !close;
    say(this.#at.close, close);
    say(this.#at.lean, lean(state.lean));
    const rows = lines(t, state);
    const text = JSON.stringify(rows);
    if (text === this.#last) return;
    this.#last = text;
    this.#at.table.hidden = false;
    this.#at.table.replaceChildren(table("Standing of all texts", headings(state), rows));
  }
}

const judged = (state) => plural(state.duels, "judgment");

function headline(t, state) {
  const undone = state.undone ? `, ${plural(state.undone, "undo")}` : "";
  const ties = state.ties ? `, ${plural(state.ties, "tie")} among them` : "";
  return `${summary(t, state)} ${judged(state)}${ties}${undone}.`;
}

function summary(t, state) {
  if (state.ranking) {
    const { safe, pairs, failure } = state.ranking;
    return `${count(safe)} of ${plural(pairs, "pair")} known; places hold, wrong with probability at most ${figure(failure)}.`;
  }
  if (state.copeland) {
    const { winners, known, circle, failure } = state.copeland;
    const none = circle ? " Every text is beaten by another: none is best." : "";
    return `${known ? "Beat the most others" : "May beat the most others"}: ${winners.join(", ")}; wrong with probability at most ${figure(failure)}.${none}`;
  }
  const bound = state.guarantee
    ? `, ${within(state.guarantee)}, wrong with probability at most ${figure(state.guarantee.failure)}`
    : ", of which nothing is sure yet";
  if (state.done) return `The winner is ${state.winner}${bound}.`;
  return `${state.leader} leads${bound}.`;
}

const within = (g) => (g.epsilon > 0 ? `within ${figure(g.epsilon)} of the best,` : "the best");

function standoff(t, s) {
  if (!s) return "";
  const needed = s.needed ? `About ${count(s.needed - s.duels)} more judgments of the two are needed` : "More judgments are needed than can be made";
  const never = t.epsilon ? "" : "; if they are equal, this never ends";
  return `Hard to tell apart: ${s.a} won ${count(s.wins)} of ${count(s.duels)} against ${s.b}, ${share(s.p)} in [${share(s.low)}, ${share(s.high)}]. ${needed}${never}. You may stop here with what is sure by now.`;
}

function headings(state) {
  if (state.ranking) return ["Text", "Place", "Wins", "Duels"];
  if (state.copeland) return ["Text", "Beats", "Wins", "Duels"];
  return ["Text", "Wins", "Duels", "Rate", "Eliminated"];
}

const range = (low, high) => (low === high ? figure(low) : `${figure(low)}–${figure(high)}`);

// lines returns the rows of the table.
function lines(t, state) {
  const standing = new Map((state.standings ?? t.state.standings ?? []).map((x) => [x.arm, x]));
  const record = (arm) => [count(standing.get(arm)?.wins ?? 0), count(standing.get(arm)?.duels ?? 0)];
  if (state.ranking) return state.ranking.places.map((p) => [p.arm, range(p.first, p.last), ...record(p.arm)]);
  if (state.copeland) return state.copeland.arms.map((s) => [s.arm, range(s.low, s.high), ...record(s.arm)]);
  const active = [...state.active].sort((a, b) => rank(state, standing, b) - rank(state, standing, a));
  const out = [...state.eliminated].reverse();
  return [
    ...active.map((arm) => [arm, ...record(arm), share(standing.get(arm)?.p ?? 0.5), mark(state, arm)]),
    ...out.map((e) => [e.arm, "", count(e.duels), share(e.p), `after ${count(e.at)}: ${e.rival} had ${share(e.rival_p)}`]),
  ];
}

const rank = (state, standing, arm) => (arm === state.leader ? 2 : (standing.get(arm)?.p ?? 0.5));

function mark(state, arm) {
  if (state.winner === arm) return element("strong", {}, "winner");
  return arm === state.leader ? "leads" : "–";
}

function lean(l) {
  if (!l) return "";
  const sign = l.estimate < 0 ? "−" : "+";
  return `Lean to the text shown first: ${sign}${figure(Math.abs(l.estimate))}. The order is drawn at random, so it cancels out.`;
}
