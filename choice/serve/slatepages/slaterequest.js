// The form that asks for a slate.

import { newKey, Problem } from "./api.js";
import { element, say } from "./element.js";
import { plural } from "./number.js";
import { describe } from "./problem.js";

// SlateRequest lists the collections and asks for slates of the selected one. It fires "collection" when another is selected, and
// "changed" when a slate was made or a user was forgotten.
export class SlateRequest extends EventTarget {
  #api;
  #parts;
  #slate;
  #known = new Map(); // by name
  #running = false;

  // parts are the elements form, collection, status, news, forget and problem.
  constructor(api, parts, slate) {
    super();
    this.#api = api;
    this.#parts = parts;
    this.#slate = slate;
    const { form, collection, forget } = parts;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#do(() => this.#make());
    });
    forget.addEventListener("click", () => this.#do(() => this.#forget()));
    collection.addEventListener("input", () => this.dispatchEvent(new Event("collection")));
  }

  // collection is the one that is selected, undefined for none.
  get collection() {
    return this.#known.get(this.#parts.collection.value);
  }

  async refresh() {
    const { collection, status } = this.#parts;
    let infos;
    try {
      infos = (await this.#api.get("v1/collections")).data.filter((c) => c.state === "ready");
    } catch (problem) {
      say(status, `${problem.title}.`);
      throw problem;
    }
    this.#known = new Map(infos.map((c) => [c.name, c]));
    const shown = [...collection.options].map((o) => o.value);
    const names = [...this.#known.keys()];
    if (names.join("\n") !== shown.join("\n")) {
      const before = collection.value;
      collection.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
      if (names.includes(before)) collection.value = before;
      else this.dispatchEvent(new Event("collection"));
    }
    say(status, names.length > 0 ? "Its vectors say, from 0 to 1, how much a row covers each topic." : "No collections yet: the page of searches makes one of a file.");
  }

  // #do runs one task at a time, and shows its problem.
  async #do(task) {
    if (this.#running) return;
    this.#running = true;
    const { problem, form } = this.#parts;
    problem.replaceChildren();
    for (const field of form.elements) field.removeAttribute("aria-invalid");
    try {
      await task();
      this.dispatchEvent(new Event("changed"));
    } catch (error) {
      problem.replaceChildren(describe(error));
      const field = form.elements[error.field?.match(/^\w+/)?.[0]];
      field?.setAttribute?.("aria-invalid", "true");
      field?.setAttribute?.("aria-errormessage", problem.id);
    } finally {
      this.#running = false;
    }
  }

  #path(rest) {
    if (!this.collection) throw new Problem({ title: "No collection is selected", field: "collection" });
    return `v1/collections/${encodeURIComponent(this.collection.name)}/slates/${rest}`;
  }

  #user() {
    const user = this.#parts.form.elements.users.value.trim();
    if (!user) throw new Problem({ title: "A user is missing", detail: "Any name will do: what is learned is kept by it.", field: "users" });
    return user;
  }

  async #make() {
    const { k, budgets } = this.#parts.form.elements;
    const body = { users: [this.#user()], k: k.valueAsNumber };
    if (Number.isNaN(body.k)) throw new Problem({ title: "A number is missing", detail: "Rows needs a number.", field: "k" });
    const words = budgets.value.split(/[\s,;]+/).filter(Boolean);
    if (words.length > 0) body.budgets = words.map(Number);
    if (words.some((w) => Number.isNaN(Number(w)))) throw new Problem({ title: "A budget is not a number", field: "budgets" });
    const answer = await this.#api.post(this.#path("recommend"), body, undefined, newKey());
    say(this.#parts.news, "");
    await this.#slate.show(this.collection, answer);
  }

  async #forget() {
    const user = this.#user();
    await this.#api.remove(this.#path("users"), undefined, { users: [user] });
    this.#slate.clear();
    say(this.#parts.news, `Nothing is known of ${user} any more.`);
  }
}

// excluded says in words which rows no slate of the request can contain.
export function excluded(e) {
  const why = { unaffordable: "dearer than a budget", barred: "in a group that may not be shown", unlisted: "not listed in the settings" };
  return Object.entries(e ?? {}).map(([kind, { count }]) => `${plural(count, "row")} ${why[kind] ?? kind}.`);
}
