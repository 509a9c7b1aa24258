// The form: converts its fields to a request, and sends it.

import { Problem } from "./api.js";
import { Completion, FILLED } from "./completion.js";
import { element, say } from "./element.js";
import { read } from "./query.js";
import { count } from "./number.js";

// Search sends the search in its form. A new search aborts the previous one.
export class Search {
  #api;
  #form;
  #collections;
  #answer;
  #invitation;
  #running = new AbortController();
  #touched = false; // by the user
  #opened = false; // the first search was made

  // invitation is what the answer shows while there is no collection.
  constructor(api, form, collections, answer, invitation) {
    this.#api = api;
    this.#form = form;
    this.#collections = collections;
    this.#answer = answer;
    this.#invitation = invitation;
    const { query } = form.elements;
    const hint = document.getElementById("query-hint");
    const usual = hint.textContent;
    const takesTexts = () => Boolean(collections.chosen?.texts);
    const tell = () => say(hint, reading(query.value, takesTexts()) ?? usual);
    const invite = () => {
      say(document.getElementById("query-label"), takesTexts() ? "Words, a row’s id, or a vector" : "A row’s id, or a vector");
      query.placeholder = takesTexts() ? "decode JSON from a stream" : "";
      tell();
    };
    collections.addEventListener("refreshed", () => {
      invite();
      this.#offerMethods();
      this.#first();
    });
    collections.addEventListener("failed", () => {
      if (!this.#opened) answer.invite();
    });
    form.addEventListener("input", invite);
    form.elements.collections.addEventListener("input", () => this.#offerMethods());
    form.addEventListener("input", (e) => {
      this.#touched ||= e.detail !== FILLED;
    });
    new Completion(api, query, document.getElementById("ids"), collections, (id) => this.follow(id));
    query.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) form.requestSubmit();
    });
    form.addEventListener("input", () => this.#mark());
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      this.run();
    });
    answer.addEventListener("follow", (e) => this.follow(e.detail));
  }

  // follow searches for what is like a row.
  follow(id) {
    this.#fill(quote(id));
    this.#form.elements.query.focus(); // the focused row is about to be removed
    this.run();
  }

  // open searches for a row of a collection, for whoever has just made or opened it.
  async open(collection) {
    let text = collection.texts ? this.#form.elements.query.placeholder : "";
    if (!text) {
      const path = `v1/collections/${encodeURIComponent(collection.name)}/rows?limit=1`;
      const first = (await this.#api.get(path)).data[0];
      if (!first || this.#collections.chosen?.name !== collection.name) return;
      text = quote(first.id);
    }
    if (this.#touched) return;
    this.#fill(text);
    await this.run();
  }

  // again makes open search although the user has typed.
  again() {
    this.#touched = false;
  }

  // #first makes the first search, so that a visitor sees what an answer is.
  #first() {
    const collection = this.#collections.chosen;
    if (!collection) {
      this.#answer.invite(this.#invitation);
      return;
    }
    if (this.#opened || collection.state !== "ready") return;
    this.#opened = true;
    if (this.#touched || this.#form.elements.query.value) return;
    this.open(collection).catch((problem) => {
      if (!this.#touched) this.#answer.fail(problem);
    });
  }

  // #fill sets the text in the box.
  #fill(text) {
    const { query } = this.#form.elements;
    query.value = text;
    query.dispatchEvent(new CustomEvent("input", { bubbles: true, detail: FILLED }));
  }

  // #offerMethods offers the methods of the collection, and keeps the one that is selected if it has that.
  #offerMethods() {
    const { method } = this.#form.elements;
    const can = this.#collections.chosen?.methods ?? ["auto"];
    const shown = [...method.options].map((o) => o.value);
    if (can.length === shown.length && can.every((m, i) => m === shown[i])) return;
    const before = method.value;
    method.replaceChildren(...can.map((m) => element("option", { value: m }, m)));
    if (can.includes(before)) method.value = before;
  }

  // run searches and shows the answer or the problem.
  async run() {
    this.#running.abort();
    this.#running = new AbortController();
    const { signal } = this.#running;
    this.#mark();
    try {
      const asked = this.#read();
      this.#answer.expect(asked.k, asked.collection);
      const began = performance.now();
      const found = await this.#ask(asked, signal);
      this.#answer.show(found, asked.collection, asked.k, (performance.now() - began) / 1000);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof Problem)) throw error;
      this.#mark(error);
      this.#answer.fail(error);
    }
  }

  // #read checks what only the page can check; the server checks ranges.
  #read() {
    const { query, k, delta, method, others } = this.#form.elements;
    const collection = this.#collections.chosen;
    if (!collection) throw new Problem({ title: "No collection to search", field: "collection" });
    return {
      collection,
      ...read(query.value),
      words: !quoted(query.value),
      k: number(k, "k"),
      delta: number(delta, "delta"),
      method: method.value,
      others: others.checked,
    };
  }

  async #ask({ collection, id, words, vector, others, ...options }, signal) {
    const path = `v1/collections/${encodeURIComponent(collection.name)}`;
    const body = { ...options, cut_k: true, include: ["certificate", "rounds"] };
    if (vector === undefined) {
      const row = await this.#row(path, id, collection.texts && words, signal);
      if (!row) return this.#api.post(`${path}/search`, { ...body, texts: [id] }, signal);
      vector = kept(row.vector, collection);
      if (others) body.exclude = [row.id];
    }
    return this.#api.post(`${path}/search`, { ...body, queries: [vector] }, signal);
  }

  // #row returns the row of an id, undefined if the text is words: several, or one that
  // is not an id.
  async #row(path, id, words, signal) {
    if (words && /\s/.test(id)) return undefined;
    try {
      if (id !== "." && id !== "..") return await this.#api.get(`${path}/rows/${encodeURIComponent(id)}`, signal);
      return (await this.#api.get(`${path}/rows?vectors=true&id=${id}`, signal)).data[0]; // which no path can end in
    } catch (error) {
      if (words && error instanceof Problem && error.status === 404) return undefined;
      throw error;
    }
  }

  // #mark marks the field of a problem, visually and for screen readers.
  #mark(problem) {
    const named = problem?.field?.match(/^\w+/)?.[0];
    const field = { queries: "query", texts: "query", id: "query" }[named] ?? named;
    for (const name of ["query", "k", "delta", "method"]) {
      const input = this.#form.elements[name];
      if (name === field) {
        input.setAttribute("aria-invalid", "true");
        input.setAttribute("aria-errormessage", "problem");
      } else {
        input.removeAttribute("aria-invalid");
        input.removeAttribute("aria-errormessage");
      }
    }
  }
}

// kept returns a row's numbers as the collection keeps them: those of float32 come as their shortest decimals, which are
// other numbers, so that a search for them would be for a query that rounding changed. For l2 they can be sums in float64.
const kept = (vector, { dtype, metric }) => (dtype === "float64" || metric === "l2" ? vector : vector.map(Math.fround));

function number(input, field) {
  if (input.value === "" || Number.isNaN(input.valueAsNumber)) {
    throw new Problem({ title: "A number is missing", detail: `The field ${field} needs a number.`, field });
  }
  return input.valueAsNumber;
}

// quoted reports whether a text can only be an id.
const quoted = (text) => text.trim().startsWith('"');

// reading describes how the text in the box will be read, undefined if it is empty.
function reading(text, texts) {
  if (!text.trim()) return undefined;
  try {
    const { id, vector } = read(text);
    if (vector) return `A vector of ${count(vector.length)} numbers.`;
    if (!texts || quoted(text)) return `The row of id ${id}.`;
    return /\s/.test(id) ? "Words. In quotes they are the id of a row." : "A row’s id or, if there is no such row, a word.";
  } catch (problem) {
    return problem.detail;
  }
}

// quote writes an id so that it is read as one.
function quote(id) {
  const text = String(id);
  try {
    if (read(text).id === text && !/\s/.test(text)) return text;
  } catch {
    // begins like a vector
  }
  return JSON.stringify(text);
}
