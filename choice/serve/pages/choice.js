// The list of tournaments, newest first, one of which is open.

import { element, quoted, say } from "./element.js";
import { plural } from "./number.js";

const SHOWN = 20;

// Choice lists the newest tournaments as links to their judging.
export class Choice {
  #api;
  #list;
  #status;
  #open = "";

  constructor(api, list, status) {
    this.#api = api;
    this.#list = list;
    this.#status = status;
  }

  // mark marks the tournament of an id as the open one.
  mark(id) {
    this.#open = id;
    for (const link of this.#list.querySelectorAll("a")) {
      if (link.hash === `#${id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  // refresh reads the tournaments.
  async refresh() {
    let page;
    try {
      page = await this.#api.get(`v1/tournaments?limit=${SHOWN}`);
    } catch (problem) {
      say(this.#status, `${problem.title}.`);
      throw problem;
    }
    const known = new Map([...this.#list.children].map((entry) => [entry.dataset.id, entry]));
    const ids = new Set(page.data.map((t) => t.id));
    for (const [id, entry] of known) {
      if (!ids.has(id)) entry.remove();
    }
    page.data.forEach((t, at) => {
      const entry = known.get(t.id) ?? made(t);
      say(entry.querySelector("span"), about(t));
      if (this.#list.children[at] !== entry) this.#list.insertBefore(entry, this.#list.children[at] ?? null);
    });
    this.mark(this.#open);
    const more = page.has_more ? `The newest ${page.data.length}.` : plural(page.data.length, "tournament");
    say(this.#status, page.data.length ? more : "None yet.");
  }
}

function made(t) {
  const texts = t.arms.slice(0, 3).map(short).join(" · ");
  const rest = t.arms.length > 3 ? ` and ${t.arms.length - 3} more` : "";
  return element("li", { "data-id": t.id }, element("a", { href: `#${t.id}` }, texts + rest), element("span"));
}

function about(t) {
  const when = new Date(t.created_at * 1000).toLocaleString();
  return `${when} · ${t.algorithm}${t.done ? ` · done: ${quoted(short(t.winner))}` : ""}`;
}

// short cuts a text for a list.
export const short = (text) => ([...text].length > 40 ? `${[...text].slice(0, 40).join("")}…` : text);
