// Files that are dropped or chosen: each becomes a collection, or queries and answers of another program are compared.

import { newKey, Problem } from "./api.js";
import { isTable, kindOf, nameFor } from "./dropped.js";
import { element, say, whileBusy } from "./element.js";
import { bytes, count, plural, share } from "./number.js";
import { describe } from "./problem.js";
import { report } from "./comparison.js";

// Intake takes files from the drop zone, its input and the whole page. It fires "made" with the name of a new collection.
export class Intake extends EventTarget {
  #api;
  #parts;
  #collections;
  #files = [];
  #running = new AbortController();

  // parts are the elements: zone, input, dialog, form, files, problem, progress, status, outcome, news.
  constructor(api, parts, collections) {
    super();
    this.#api = api;
    this.#parts = parts;
    this.#collections = collections;
    const { zone, input, dialog, form } = parts;
    for (const event of ["dragover", "drop"]) {
      document.addEventListener(event, (e) => {
        if (!e.dataTransfer?.types.includes("Files")) return;
        e.preventDefault();
        zone.classList.toggle("over", event === "dragover");
        if (event === "drop") this.take([...e.dataTransfer.files]);
      });
    }
    document.addEventListener("dragleave", (e) => {
      if (!e.relatedTarget) zone.classList.remove("over");
    });
    input.addEventListener("change", () => {
      this.take([...input.files]);
      input.value = ""; // the same file can be chosen again
    });
    form.addEventListener("input", () => this.#arrange());
    form.elements.table.addEventListener("change", () => (form.elements.name.value = nameFor(this.#table)));
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      const button = form.querySelector(".primary");
      if (!button.disabled) whileBusy(button, () => this.#run());
    });
    dialog.addEventListener("close", () => this.#running.abort());
    form.querySelector("[value=cancel]").addEventListener("click", () => dialog.close());
  }

  // take asks what to do with files.
  async take(files) {
    const { dialog, form, problem, outcome } = this.#parts;
    if (files.length === 0 || dialog.open) return;
    const kinds = await Promise.all(files.map(kindOf));
    this.#files = files.map((file, i) => ({ file, kind: kinds[i] }));
    problem.replaceChildren();
    outcome.replaceChildren();
    this.#say("");
    const answers = this.#files.find((f) => f.kind === "answers");
    const vectors = this.#files.find((f) => f.kind === "vectors");
    const { use, table, name, queries, answers: chosen, column, ids, header } = form.elements;
    for (const field of [column, ids, header]) field.value = ""; // of the files before
    use.value = answers ? "recall" : "collection";
    name.value = nameFor((vectors ?? this.#files[0]).file);
    for (const [select, first] of [[chosen, answers], [queries, vectors], [table, vectors ?? this.#files[0]]]) {
      select.replaceChildren(...this.#files.map(({ file }, i) => element("option", { value: i }, file.name)));
      if (first) select.value = String(this.#files.indexOf(first));
      else select.selectedIndex = -1;
    }
    this.#arrange();
    dialog.showModal();
  }

  // #arrange shows the fields of what is to be done.
  #arrange() {
    const { form, files } = this.#parts;
    const { use, kept, queries } = form.elements;
    const collection = use.value === "collection";
    form.querySelector("#which-file").hidden = this.#files.length === 1;
    form.querySelector("#which-ids").hidden = !collection;
    form.querySelector("#as-collection").hidden = !collection;
    form.querySelector("#as-answers").hidden = collection;
    kept.closest("label").hidden = !isTable(this.#table);
    say(form.querySelector("#answers-of"), this.#collections.chosen ? `Compared with the best rows of ${this.#collections.chosen.name}.` : "There is no collection to compare with.");
    form.querySelector("#no-queries").hidden = queries.selectedIndex >= 0;
    say(files, this.#files.map(({ file }) => `${file.name}, ${bytes(file.size)}`).join("; "));
  }

  // #table is the file that a collection is made of.
  get #table() {
    return this.#files[Number(this.#parts.form.elements.table.value)].file;
  }

  #say(text, done) {
    const { status, progress } = this.#parts;
    say(status, text);
    progress.hidden = done === undefined;
    if (done !== undefined && done < 1) progress.value = done;
    else progress.removeAttribute("value");
  }

  async #run() {
    const { form, dialog, problem, outcome } = this.#parts;
    this.#running = new AbortController();
    const { signal } = this.#running;
    problem.replaceChildren();
    outcome.replaceChildren();
    try {
      if (form.elements.use.value === "collection") {
        const made = await this.#create(signal);
        dialog.close();
        const from = made.vector_columns ? ` from ${made.vector_columns}` : "";
        const warnings = (made.warnings ?? []).map((w) => ` ${w}.`).join("");
        say(this.#parts.news, `${made.name} has ${plural(made.count, "row")} of ${count(made.dim)} numbers${from}.${warnings}`);
        this.dispatchEvent(new CustomEvent("made", { detail: made.name }));
      } else {
        outcome.replaceChildren(report(form.elements.use.value, await this.#compare(form.elements.use.value, signal)));
        outcome.focus();
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof Problem)) throw error;
      problem.replaceChildren(describe(error));
      if (hasReadings(error)) form.querySelector("details").open = true;
      problem.scrollIntoView({ block: "nearest" });
    } finally {
      this.#say("");
    }
  }

  // #stored uploads files, passes their ids to do, and removes them: what is made of them does not need them.
  async #stored(files, signal, use) {
    const ids = [];
    try {
      for (const file of files) {
        const sending = (done) => this.#say(`${file.name}: ${share(Math.floor(100 * done) / 100)} of ${bytes(file.size)} sent`, done);
        sending(0);
        ids.push((await this.#api.upload(file, sending, signal).catch((error) => Promise.reject(named(error, file)))).id);
      }
      return await use(...ids);
    } catch (error) {
      if (error instanceof Problem) ids.forEach((id, i) => (error.detail = error.detail?.replaceAll(`file ${id}`, files[i].name).replaceAll(id, files[i].name)));
      throw error;
    } finally {
      for (const id of ids) this.#api.remove(`v1/files/${encodeURIComponent(id)}`).catch(() => {}); // it expires
    }
  }

  // #create makes a collection of a file, and returns what the server says of it.
  async #create(signal) {
    const { name, metric, column, ids, header, kept } = this.#parts.form.elements;
    if (!name.value.trim()) throw new Problem({ title: "The collection needs a name", field: "name" });
    if (!metric.value) throw new Problem({ title: "Choose how rows are compared", detail: "The metric decides what the best rows are, so none is assumed.", field: "metric" });
    const file = this.#table;
    const before = await this.#versionOf(name.value.trim());
    const path = `v1/collections/${encodeURIComponent(name.value.trim())}?wait=true`;
    return this.#stored([file], signal, async (id) => {
      const body = { source: { file_id: id }, metric: metric.value };
      for (const field of [column, ids, header]) if (field.value.trim()) body[field.name] = field.value.trim();
      this.#say("Preparing the rows for searches …", 1);
      const key = newKey();
      const all = isTable(file) && kept.checked;
      try {
        return await this.#api.put(path, all ? { ...body, columns: "all" } : body, signal, key);
      } catch (error) {
        if (!all || error.field !== "columns") throw error;
        return this.#api.put(path, body, signal, newKey()); // none can be kept; warnings name those that there are
      }
    }).catch(async (error) => {
      if (error instanceof Problem && error.status !== 409) await this.#dropFailed(name.value.trim(), before);
      throw error;
    });
  }

  // #versionOf is the newest version of a collection, undefined if there is none.
  async #versionOf(name) {
    try {
      return (await this.#api.get(`v1/collections/${encodeURIComponent(name)}`)).version;
    } catch {
      return undefined;
    }
  }

  // #dropFailed deletes a collection whose only version, made after another, could not be built, so that nothing of it is left.
  async #dropFailed(name, before) {
    const path = `v1/collections/${encodeURIComponent(name)}`;
    try {
      const made = await this.#api.get(path);
      if (made.state === "failed" && made.version !== before) await this.#api.remove(path);
    } catch {
      // there is none
    }
  }

  // #compare returns what the collection says of answers.
  async #compare(verb, signal) {
    const { queries, answers, column, header } = this.#parts.form.elements;
    const collection = this.#collections.chosen;
    if (!collection) throw new Problem({ title: "No collection to compare with", field: "collection" });
    if (queries.selectedIndex < 0 || answers.selectedIndex < 0 || queries.value === answers.value)
      throw new Problem({ title: "Answers and their queries are needed", detail: "Drop both files at once: the answers, and the vectors that were asked for." });
    const chosen = [queries, answers].map((select) => this.#files[Number(select.value)].file);
    return this.#stored(chosen, signal, (queriesID, answersID) => {
      this.#say("Comparing with the best rows …", 1);
      const path = `v1/collections/${encodeURIComponent(collection.name)}/${verb}`;
      const body = { queries_file_id: queriesID, answers_file_id: answersID };
      for (const field of [column, header]) if (field.value.trim()) body[field.name] = field.value.trim();
      return this.#api.post(path, body, signal);
    });
  }
}

// hasReadings reports whether another reading of a file may avoid a problem: a text that is no number may be in a column
// that is not the vectors', but NaN has its place in all.
const hasReadings = ({ field, detail }) =>
  !/only finite numbers/.test(detail) && (["column", "ids", "header"].includes(field) || /\b(header|column)\b/.test(detail ?? ""));

// named adds the name of a file to the problem of its upload.
function named(error, file) {
  if (error instanceof Problem && error.detail) error.detail = `${file.name}: ${error.detail}`;
  return error;
}
