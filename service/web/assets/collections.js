// The list of collections, one of which is selected.

import { element, say } from "./element.js";
import { bytes, count, plural, share } from "./number.js";

// Collections shows the server's collections as radio buttons and keeps the selection through
// every refresh; it fires "refreshed" after each, or
// "failed".
export class Collections extends EventTarget {
  #api;
  #list;
  #status;
  #known = new Map(); // by name: {info, entry, radio, facts, state}

  constructor(api, list, status) {
    super();
    this.#api = api;
    this.#list = list;
    this.#status = status;
  }

  // chosen is the selected collection, undefined if there is none.
  get chosen() {
    return [...this.#known.values()].find((c) => c.radio.checked)?.info;
  }

  // choose selects a collection that is listed.
  choose(name) {
    const known = this.#known.get(name);
    if (known) known.radio.checked = true;
    this.dispatchEvent(new Event("refreshed"));
  }

  // refresh reads the collections; while one is being built it returns the time to the
  // next refresh.
  async refresh() {
    let infos;
    try {
      infos = (await this.#api.get("v1/collections")).data;
    } catch (problem) {
      say(this.#status, `${problem.title}.`);
      this.dispatchEvent(new Event("failed"));
      throw problem;
    }
    const names = new Set(infos.map((i) => i.name));
    for (const [name, c] of this.#known) {
      if (names.has(name)) continue;
      c.entry.remove();
      this.#known.delete(name);
    }
    infos.forEach((info, at) => this.#show(info, at));
    if (infos.length > 0 && !this.chosen) {
      const ready = infos.find((i) => i.state === "ready") ?? infos[0];
      this.#known.get(ready.name).radio.checked = true;
    }
    this.dispatchEvent(new Event("refreshed"));
    say(
      this.#status,
      infos.length > 0
        ? plural(infos.length, "collection")
        : "No collections yet.",
    );
    return infos.some((i) => i.state === "building" || i.state === "loading" || i.next_version) ? 1000 : undefined;
  }

  #show(info, at) {
    let c = this.#known.get(info.name);
    if (!c) {
      c = entry(info.name);
      this.#known.set(info.name, c);
    }
    c.info = info;
    say(c.facts, facts(info));
    say(c.state, state(info));
    c.state.classList.toggle("bad", Boolean(info.error));
    if (this.#list.children[at] !== c.entry) this.#list.insertBefore(c.entry, this.#list.children[at] ?? null);
  }
}

function entry(name) {
  const radio = element("input", { type: "radio", name: "collection", value: name });
  const facts = element("span", { class: "facts" });
  const state = element("span", { class: "state" });
  return {
    entry: element("label", { class: "collection" }, radio, element("strong", {}, name), facts, state),
    radio,
    facts,
    state,
  };
}

function facts(i) {
  const basis = i.basis && i.basis !== "rotated" ? `, basis ${i.basis}` : "";
  return `${count(i.count)} × ${count(i.dim)}, ${i.metric}${basis}, ${bytes(i.bytes)}`;
}

function state(i) {
  const progress = i.progress > 0 ? ` ${share(Math.round(i.progress * 100) / 100)}` : "";
  const next = i.next_version ? `; version ${i.next_version} is being built${progress}` : "";
  const error = i.error ? `: ${i.error}` : "";
  return `version ${i.version} ${i.state}${i.state === "building" ? progress : ""}${next}${error}`;
}
