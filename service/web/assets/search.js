// The form: converts its fields to a request, and sends it.

import { Problem } from "./api.js";
import { say } from "./element.js";
import { read } from "./query.js";
import { count } from "./number.js";

// Search sends the search in its form. A new search aborts the previous one.
export class Search {
  #api;
  #form;
  #collections;
  #answer;
  #running = new AbortController();

  constructor(api, form, collections, answer) {
    this.#api = api;
    this.#form = form;
    this.#collections = collections;
    this.#answer = answer;
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
    collections.addEventListener("refreshed", invite);
    form.addEventListener("input", invite);
    query.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) form.requestSubmit();
    });
    form.addEventListener("input", () => this.#mark());
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      this.run();
    });
    answer.addEventListener("follow", (e) => {
      query.value = quote(e.detail);
      query.dispatchEvent(new Event("input", { bubbles: true }));
      query.focus(); // the focused row is about to be removed
      this.run();
    });
  }

  // run searches and shows the answer or the problem.
  async run() {
    this.#running.abort();
    this.#running = new AbortController();
    const { signal } = this.#running;
    this.#mark();
    try {
      const asked = this.#read();
      this.#answer.expect(asked.k);
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
    const body = { ...options, include: ["certificate", "rounds"] };
    if (vector === undefined) {
      const row = await this.#row(path, id, collection.texts && words, signal);
      if (!row) return this.#api.post(`${path}/search`, { ...body, texts: [id] }, signal);
      vector = row.vector;
      if (others) body.exclude = [row.id];
    }
    return this.#api.post(`${path}/search`, { ...body, queries: [vector] }, signal);
  }

  // #row returns the row of an id, undefined if the text is words: several, or one that
  // is not an id.
  async #row(path, id, words, signal) {
    if (words && /\s/.test(id)) return undefined;
    try {
      return await this.#api.get(`${path}/rows/${encodeURIComponent(id)}`, signal);
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
