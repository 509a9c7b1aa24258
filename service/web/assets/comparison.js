// What recall and certify say of answers of another program.

import { element } from "./element.js";
import { write } from "./json.js";
import { count, plural, share } from "./number.js";

// report makes an element of the answer to a verb, "recall" or "certify".
export function report(verb, answer) {
  return verb === "recall" ? measured(answer) : proven(answer);
}

function measured(r) {
  const facts = [
    ["Queries", `${count(r.complete)} of ${count(r.queries)} answers lack nothing, k = ${count(r.k)}.`],
    ["Interval", `${share(r.recall_low)} to ${share(r.recall_high)} for all queries like these, with confidence 95%.`],
    ...(r.reasons ?? []).map((reason) => ["Why", reason.text]),
    ...scores(r.scores),
  ];
  return element("div", { class: "notice" }, element("h3", {}, `Recall ${share(r.recall)}`), list(facts));
}

function proven({ certified: c, results }) {
  const left = c.kept > 0 ? ` ${plural(c.kept, "answer")} could not be proven in time.` : "";
  const facts = [
    ["Answers", `${count(c.right)} of ${count(c.compared)} lacked nothing; recall ${share(c.recall)}.${left}`],
    ["Corrected", `${plural(c.missed, "missing row")} found${c.unwanted > 0 ? `, ${plural(c.unwanted, "row")} that may not be returned left out` : ""}.`],
    ...scores(c.scores),
  ];
  const file = new Blob([write(results)], { type: "application/json" });
  const save = () => {
    const at = URL.createObjectURL(file);
    element("a", { href: at, download: "proven.json" }).click();
    setTimeout(() => URL.revokeObjectURL(at), 60_000);
  };
  const button = element("button", { type: "button", onclick: save }, "Download the proven answers");
  return element("div", { class: "notice" }, element("h3", {}, "Certified"), list(facts), element("div", { class: "buttons" }, button));
}

const scores = (s) => (s ? [["Scores", `${s.form}: ${count(s.wrong)} of ${count(s.stated)} are not the rows’.${s.hint ? ` ${s.hint}` : ""}`]] : []);

const list = (facts) => element("dl", {}, ...facts.map(([term, text]) => element("div", {}, element("dt", {}, term), element("dd", {}, text))));
