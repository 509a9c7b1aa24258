// The form: from what is written there to a request and its answer.

import { Problem } from "./api.js";
import { read } from "./query.js";
import { count } from "./number.js";

// Search asks what its form says. A new search ends the one before.
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
    query.addEventListener("input", () => (hint.textContent = reading(query.value) ?? usual));
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
      query.focus(); // the row that had the focus is about to go
      this.run();
    });
  }

  // run searches and shows what comes of it.
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

  // #read checks what only the page can know; ranges are the server's to judge.
  #read() {
    const { query, k, delta, method, others } = this.#form.elements;
    const collection = this.#collections.chosen;
    if (!collection) throw new Problem({ title: "There is no collection to search", field: "collection" });
    return {
      collection,
      ...read(query.value),
      k: number(k, "k"),
      delta: number(delta, "delta"),
      method: method.value,
      others: others.checked,
    };
  }

  async #ask({ collection, id, vector, others, ...options }, signal) {
    const path = `v1/collections/${encodeURIComponent(collection.name)}`;
    const body = { ...options, include: ["certificate", "rounds"] };
    if (vector === undefined) {
      const row = await this.#api.get(`${path}/rows/${encodeURIComponent(id)}`, signal);
      vector = row.vector;
      if (others) body.deny = [row.id];
    }
    return this.#api.post(`${path}/search`, { ...body, queries: [vector] }, signal);
  }

  // #mark tells which field a problem is about, for the eye and for the ear.
  #mark(problem) {
    const named = problem?.field?.match(/^\w+/)?.[0];
    const field = { queries: "query", id: "query" }[named] ?? named;
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
    throw new Problem({ title: "A number is missing", detail: `There is no number in the field ${field}.`, field });
  }
  return input.valueAsNumber;
}

// reading says how the text in the box will be taken, undefined while it is
// empty.
function reading(text) {
  if (!text.trim()) return undefined;
  try {
    const { id, vector } = read(text);
    return vector ? `A vector of ${count(vector.length)} numbers.` : `The row of id ${id}.`;
  } catch (problem) {
    return problem.detail;
  }
}

// quote writes an id so that read takes it for one.
function quote(id) {
  const text = String(id);
  try {
    if (read(text).id === text) return text;
  } catch {
    // begins like a vector
  }
  return JSON.stringify(text);
}
