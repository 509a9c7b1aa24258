// What slates of a collection are made from.

import { Problem } from "./api.js";
import { say } from "./element.js";
import { read, write } from "./json.js";
import { plural } from "./number.js";
import { describe } from "./problem.js";

// Settings shows and saves the settings of one collection.
export class Settings {
  #api;
  #parts;
  #collection;

  // parts are the elements form, status, text and problem.
  constructor(api, parts) {
    this.#api = api;
    this.#parts = parts;
    parts.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
  }

  get #path() {
    return `v1/collections/${encodeURIComponent(this.#collection.name)}/slates`;
  }

  // show reads the settings of a collection, undefined for none.
  async show(collection) {
    this.#collection = collection;
    this.#parts.text.value = "";
    this.#parts.problem.replaceChildren();
    await this.refresh(true);
  }

  // refresh reads how many slates and users there are; with fill, the settings, too.
  async refresh(fill = false) {
    const { status, text } = this.#parts;
    if (!this.#collection) return;
    try {
      const { object, users, slates, ...settings } = await this.#api.get(this.#path);
      say(status, `${plural(users, "user")} with a known taste, ${plural(slates, "slate")} waiting for feedback.`);
      if (fill) text.value = write(settings, 1);
    } catch (problem) {
      say(status, problem.detail || `${problem.title}.`);
    }
  }

  async #save() {
    const { text, problem, status } = this.#parts;
    problem.replaceChildren();
    text.removeAttribute("aria-invalid");
    try {
      if (!this.#collection) throw new Problem({ title: "No collection is selected" });
      let settings;
      try {
        settings = read(text.value || "{}");
      } catch (error) {
        text.setAttribute("aria-invalid", "true");
        text.setAttribute("aria-errormessage", problem.id);
        throw new Problem({ title: "The settings are not JSON", detail: error.message });
      }
      await this.#api.put(this.#path, settings);
      await this.refresh(true);
      say(status, `Saved. ${status.textContent}`);
    } catch (error) {
      problem.replaceChildren(describe(error));
    }
  }
}
