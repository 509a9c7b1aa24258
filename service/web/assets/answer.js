// The answer to a search: the rows found, their certificate and the chart, or the problem.

import { explain } from "./certificate.js";
import { element, say, table } from "./element.js";
import { Picture, figures } from "./looks.js";
import { metricOf } from "./metric.js";
import { plural, score, span } from "./number.js";

const ROW = 2.25; // height of a table's row in rem, as style.css has it
const MOST = 11; // rows shown without scrolling

// Answer shows one answer or one problem at a time. It fires "follow" with the id of a row
// that the user clicks.
export class Answer extends EventTarget {
  #parts;
  #picture;

  // parts are the elements: section, summary, problem, found, rows, looks,
  // looksTable, looksDetails, certificate.
  constructor(parts) {
    super();
    this.#parts = parts;
    this.#picture = new Picture(parts.looks);
  }

  // expect reserves the height of so many rows when the request is sent, so that
  // nothing moves when they arrive.
  expect(wanted) {
    const { section, problem, found, rows } = this.#parts;
    section.setAttribute("aria-busy", "true");
    problem.replaceChildren();
    rows.style.blockSize = `${ROW * Math.min(wanted + 1, MOST)}rem`;
    found.hidden = false;
  }

  // show shows the answer to one query; seconds is the time of the round trip.
  show(answer, collection, wanted, seconds) {
    const { section, summary, rows, looksTable, looksDetails } = this.#parts;
    const [{ ids, scores, complete, certificate, rounds }] = answer.results;
    const metric = metricOf(collection.metric);
    section.removeAttribute("aria-busy");
    say(
      summary,
      `${plural(ids.length, "row")} of ${collection.name}, version ${answer.version}, in ${span(answer.took_ms / 1000)}` +
        ` (${span(seconds)} there and back). ${complete ? "" : "The answer is incomplete. "}${(answer.warnings ?? []).join(" ")}`,
    );
    rows.scrollTop = 0;
    rows.replaceChildren(
      table(
        "Rows found, best first",
        ["rank", "id", metric.heading],
        ids.map((id, i) => [String(i + 1), this.#link(id), scores[i] === null ? "none" : score(scores[i])]),
      ),
    );
    const words = explain(certificate, rounds, ids.length, metric);
    this.#parts.certificate.replaceChildren(
      element("dl", {}, ...words.flatMap(([term, text]) => [element("dt", {}, term), element("dd", {}, text)])),
    );
    this.#picture.show(rounds, wanted);
    looksTable.replaceChildren(figures(rounds));
    looksDetails.classList.toggle("none", rounds.length === 0);
  }

  // fail shows a problem in place of an answer.
  fail(problem) {
    const { section, summary, problem: box, found } = this.#parts;
    section.removeAttribute("aria-busy");
    found.hidden = true;
    say(summary, "");
    box.replaceChildren(describe(problem));
  }

  #link(id) {
    const follow = () => this.dispatchEvent(new CustomEvent("follow", { detail: id }));
    return element("button", { type: "button", class: "id", title: `Search for ${id}`, onclick: follow }, String(id));
  }
}

// describe lists the members of a problem.
function describe(p) {
  const facts = [
    ["field", p.field],
    ["index", p.index],
    [
      "limit",
      p.limit === undefined ? undefined : typeof p.limit === "object" ? JSON.stringify(p.limit) : String(p.limit),
    ],
    ["status", p.status || undefined],
    ["kind", p.type?.split("/").at(-1)],
    ["request", p.instance],
  ].filter(([, value]) => value !== undefined);
  return element(
    "div",
    { class: "problem" },
    element("h3", {}, p.title),
    element("p", {}, p.detail ?? ""),
    element(
      "dl",
      {},
      ...facts.map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, String(value)))),
    ),
  );
}
