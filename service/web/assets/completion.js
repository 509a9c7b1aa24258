// The ids that begin with what is typed, below the search box.

import { element } from "./element.js";
import { read } from "./query.js";

// FILLED is the detail of an input event by which the page, not the user, has filled the box.
export const FILLED = "filled";

const SHOWN = 8;
const PAUSE = 150; // ms after the last key

// Completion lists ids of the selected collection. Arrow keys go from the box into the list and back; Escape closes it. It calls
// choose with the id that is picked.
export class Completion {
  #api;
  #box;
  #list;
  #collections;
  #choose;
  #timer = 0;
  #asking = new AbortController();

  constructor(api, box, list, collections, choose) {
    this.#api = api;
    this.#box = box;
    this.#list = list;
    this.#collections = collections;
    this.#choose = choose;
    box.addEventListener("input", (e) => this.#typed(e));
    box.addEventListener("keydown", (e) => {
      if (e.key === "Escape") this.close();
      if (e.key !== "ArrowDown" || list.hidden) return;
      e.preventDefault();
      list.firstElementChild?.focus();
    });
    list.addEventListener("keydown", (e) => this.#move(e));
    for (const part of [box, list]) part.addEventListener("focusout", (e) => this.#left(e.relatedTarget));
    box.form.addEventListener("submit", () => this.close());
  }

  close() {
    clearTimeout(this.#timer);
    this.#asking.abort();
    this.#list.hidden = true;
  }

  #left(to) {
    if (to !== this.#box && !this.#list.contains(to)) this.close();
  }

  #typed(event) {
    this.close();
    if (event.detail === FILLED) return;
    const collection = this.#collections.chosen;
    const prefix = prefixOf(this.#box.value);
    if (collection?.state !== "ready" || prefix === undefined) return;
    this.#timer = setTimeout(() => this.#ask(collection, prefix), PAUSE);
  }

  async #ask(collection, prefix) {
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    let page;
    try {
      const query = new URLSearchParams({ prefix, limit: SHOWN });
      page = await this.#api.get(`v1/collections/${encodeURIComponent(collection.name)}/rows?${query}`, signal);
    } catch {
      return; // what is typed can still be searched for, which tells what is wrong
    }
    const ids = page.data.map((row) => row.id);
    if (signal.aborted || document.activeElement !== this.#box || ids.length === 0) return;
    if (ids.length === 1 && String(ids[0]) === prefix) return;
    this.#list.replaceChildren(...ids.map((id) => this.#button(id)), ...(page.has_more ? [element("p", { class: "hint" }, "and more")] : []));
    this.#list.hidden = false;
  }

  #button(id) {
    const pick = () => {
      this.close();
      this.#choose(id);
    };
    return element("button", { type: "button", tabindex: "-1", onclick: pick }, String(id));
  }

  #move(event) {
    const buttons = [...this.#list.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Escape: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    (buttons[Math.min(to, buttons.length - 1)] ?? this.#box).focus();
    if (event.key === "Escape") this.close();
  }
}

// prefixOf is the beginning of an id that a text can be, undefined if it is a vector, several words, or nothing.
function prefixOf(text) {
  try {
    const { id } = read(text);
    return id === undefined || /\s/.test(text.trim()) ? undefined : id.replace(/^"/, "");
  } catch {
    return undefined;
  }
}
