// The form that creates a tournament.

import { newKey, Problem } from "./api.js";
import { whileBusy } from "./element.js";
import { numberOf, textsOf } from "./entry.js";
import { plural } from "./number.js";
import { brief } from "./problem.js";

const LEASE = 120; // seconds for which a duel is reserved for the page that shows it

// Creation sends the form; created is called with the new tournament.
export class Creation {
  #api;
  #form;
  #problem;
  #created;
  #key; // of the next request, which has the same seed when it is repeated
  #seed;

  constructor(api, form, problem, created) {
    this.#api = api;
    this.#form = form;
    this.#problem = problem;
    this.#created = created;
    this.#renew();
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const button = form.querySelector("button.primary");
      if (!button.disabled) whileBusy(button, () => this.#send());
    });
    form.addEventListener("input", (event) => {
      this.#renew();
      event.target.removeAttribute("aria-invalid");
    });
  }

  // renew makes what is sent next another request.
  #renew() {
    this.#key = newKey();
    this.#seed = crypto.getRandomValues(new Uint32Array(1))[0];
  }

  async #send() {
    this.#problem.replaceChildren();
    for (const field of this.#form.elements) field.removeAttribute("aria-invalid");
    try {
      const made = await this.#create(this.#spec());
      this.#renew();
      this.#created(made);
    } catch (problem) {
      this.#problem.replaceChildren(brief(problem));
      const field = this.#form.elements[problem.field];
      field?.setAttribute("aria-invalid", "true");
      field?.setAttribute("aria-errormessage", this.#problem.id);
      field?.focus();
    }
  }

  #spec() {
    const { arms, algorithm, delta, epsilon } = this.#form.elements;
    return {
      arms: textsOf(arms),
      mode: "pac",
      algorithm: algorithm.value,
      delta: numberOf(delta, "δ"),
      epsilon: numberOf(epsilon, "ε", true),
      lease_seconds: LEASE,
      seed: this.#seed,
    };
  }

  async #create(spec) {
    try {
      return await this.#api.post("v1/tournaments", spec, undefined, this.#key);
    } catch (problem) {
      const texts = spec.arms.length;
      if (problem.field !== "arms" || !(problem.limit < texts)) throw problem;
      throw new Problem({ ...problem, detail: `${plural(texts, "text")}; this server takes at most ${problem.limit} in a tournament.` });
    }
  }
}
