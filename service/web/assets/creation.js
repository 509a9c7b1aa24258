// The form that creates a tournament.

import { newKey } from "./api.js";
import { describe } from "./problem.js";

const LEASE = 120; // seconds for which a duel is reserved for the page that shows it

// Creation sends the form; created is called with the new tournament.
export class Creation {
  #api;
  #form;
  #problem;
  #created;
  #key = newKey();

  constructor(api, form, problem, created) {
    this.#api = api;
    this.#form = form;
    this.#problem = problem;
    this.#created = created;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    form.addEventListener("input", (event) => {
      this.#key = newKey(); // another request
      event.target.removeAttribute("aria-invalid");
    });
  }

  async #send() {
    const button = this.#form.querySelector("button.primary");
    if (button.disabled) return;
    button.disabled = true;
    this.#problem.replaceChildren();
    for (const field of this.#form.elements) field.removeAttribute("aria-invalid");
    try {
      const made = await this.#api.post("v1/tournaments", this.#spec(), undefined, this.#key);
      this.#key = newKey();
      this.#created(made);
    } catch (problem) {
      this.#problem.replaceChildren(describe(problem));
      const field = this.#form.elements[problem.field];
      field?.setAttribute("aria-invalid", "true");
      field?.setAttribute("aria-errormessage", this.#problem.id);
      field?.focus();
    } finally {
      button.disabled = false;
    }
  }

  #spec() {
    const { arms, algorithm, delta, epsilon } = this.#form.elements;
    const spec = {
      arms: texts(arms.value),
      mode: "pac",
      algorithm: algorithm.value,
      delta: Number(delta.value),
      lease_seconds: LEASE,
      seed: crypto.getRandomValues(new Uint32Array(1))[0],
    };
    if (epsilon.value.trim() !== "") spec.epsilon = Number(epsilon.value);
    return spec;
  }
}

// texts returns the lines of a list that are not empty.
export const texts = (list) =>
  list
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
