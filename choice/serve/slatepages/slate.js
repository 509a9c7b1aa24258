// A slate, and the feedback on it.

import { Problem } from "./api.js";
import { element, say } from "./element.js";
import { figure, plural, share } from "./number.js";
import { describe } from "./problem.js";
import { fillBoxes } from "./rows.js";
import { excluded } from "./slaterequest.js";

// Slate shows one slate and sends the feedback on it. It fires "changed" when something was learned.
export class Slate extends EventTarget {
  #api;
  #parts;
  #collection;
  #slate;

  // parts are the elements status, form, rows, seen, problem and notes.
  constructor(api, parts) {
    super();
    this.#api = api;
    this.#parts = parts;
    parts.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#learn();
    });
  }

  clear() {
    this.#parts.form.hidden = true;
    say(this.#parts.status, "None yet.");
    say(this.#parts.notes, "");
  }

  // show shows the first slate of an answer of a collection.
  async show(collection, answer) {
    const { status, form, rows, seen, problem, notes } = this.#parts;
    const [slate] = answer.slates;
    this.#collection = collection;
    this.#slate = slate;
    problem.replaceChildren();
    const boxes = slate.items.map((item) => element("div", { class: "columns" }));
    rows.replaceChildren(...slate.items.map((item, i) => entry(item, i, boxes[i])));
    seen.max = seen.value = slate.items.length;
    form.hidden = slate.items.length === 0;
    say(status, `${plural(slate.items.length, "row")} for ${slate.user}, in ${figure(answer.took_ms)} ms.${slate.items.length === 0 ? " None fits the budgets." : ""}`);
    const promise = slate.alpha > 0 ? [`Its value is at least ${share(slate.alpha)} of the best slate’s, as far as tastes are known.`] : [];
    say(notes, [...promise, ...excluded(answer.excluded)].join(" "));
    const ids = slate.items.map(({ id }) => id);
    if (collection.columns) await fillBoxes(this.#api, collection, ids, boxes);
  }

  async #learn() {
    const { rows, seen, status, problem, form } = this.#parts;
    const liked = [...rows.querySelectorAll("input")].map((box) => (box.checked ? 1 : 0));
    problem.replaceChildren();
    seen.removeAttribute("aria-invalid");
    try {
      const looked = seen.valueAsNumber;
      if (!(Number.isInteger(looked) && looked >= 1 && looked <= liked.length))
        throw new Problem({ title: "How many rows were looked at?", detail: `From 1 to ${liked.length}.`, field: "seen" });
      const path = `v1/collections/${encodeURIComponent(this.#collection.name)}/slates/feedback`;
      const taken = await this.#api.post(path, { slate_id: this.#slate.slate_id, rewards: liked.slice(0, looked) });
      form.hidden = true;
      say(this.#parts.notes, "");
      say(status, `Learned: ${plural(taken.observations, "reward")} of ${taken.user} ${taken.observations === 1 ? "is" : "are"} known. The next slate makes use of them.`);
      this.dispatchEvent(new Event("changed"));
    } catch (error) {
      problem.replaceChildren(describe(error));
      if (error.field !== "seen") return;
      seen.setAttribute("aria-invalid", "true");
      seen.setAttribute("aria-errormessage", problem.id);
      seen.focus();
    }
  }
}

function entry({ id, mean, width }, i, box) {
  const liked = element("input", { type: "checkbox", id: `liked-${i}` });
  return element(
    "li",
    {},
    liked,
    element("label", { for: `liked-${i}` }, `${i + 1}. ${id}`),
    element("span", { class: "estimate", title: "The reward that is expected, and how far off it may be" }, `${figure(mean)} ± ${figure(width)}`),
    box,
  );
}
