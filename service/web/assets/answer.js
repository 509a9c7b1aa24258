// The answer to a search: the rows found, their certificate and the chart, or the problem.

import { explain } from "./certificate.js";
import { element, say, table } from "./element.js";
import { Picture, figures } from "./looks.js";
import { metricOf } from "./metric.js";
import { plural, score, span } from "./number.js";
import { describe } from "./problem.js";
import { describeRows } from "./rows.js";

const ROW = 2.25; // height of a table's row in rem, as style.css has it
const DESCRIBED = 4.75; // that of a row with its columns
const MOST = 24.75; // that of the table; the rest is scrolled

// Answer shows one answer or one problem at a time. It fires "follow" with the id of a row
// that the user clicks.
export class Answer extends EventTarget {
  #api;
  #parts;
  #picture;
  #reading = new AbortController(); // the columns of the rows shown

  // parts are the elements: section, summary, problem, invitation, found, rows, looks,
  // looksTable, looksDetails, certificate.
  constructor(api, parts) {
    super();
    this.#api = api;
    this.#parts = parts;
    this.#picture = new Picture(parts.looks);
  }

  // expect reserves the height of so many rows of a collection when the request is sent, so
  // that nothing moves when they arrive.
  expect(wanted, collection) {
    const { section, problem, found, rows } = this.#parts;
    section.setAttribute("aria-busy", "true");
    this.#parts.invitation.replaceChildren();
    problem.replaceChildren();
    const each = collection.columns ? DESCRIBED : ROW;
    rows.style.blockSize = `${Math.min(ROW + wanted * each, MOST)}rem`;
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
    this.#reading.abort();
    if (collection.columns) {
      this.#reading = new AbortController();
      describeRows(this.#api, collection, ids, rows, this.#reading.signal);
    }
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
    this.#reading.abort();
    say(summary, "");
    box.replaceChildren(describe(problem));
  }

  // invite shows, in place of an answer, what a server without collections is for.
  invite(node) {
    const { section, summary, problem, found } = this.#parts;
    section.removeAttribute("aria-busy");
    found.hidden = true;
    say(summary, "No collection to search yet.");
    problem.replaceChildren();
    if (this.#parts.invitation.firstChild !== node) this.#parts.invitation.replaceChildren(...(node ? [node] : []));
  }

  #link(id) {
    const follow = () => this.dispatchEvent(new CustomEvent("follow", { detail: id }));
    return element("button", { type: "button", class: "id", title: `Search for ${id}`, onclick: follow }, String(id));
  }
}
