// The service's API, called with the token of this tab.

import { read, write } from "./json.js";

const KEY = "thresher-token";

// newKey draws an Idempotency-Key.
export function newKey() {
  return [...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(36)).join("-");
}

// Problem is a failed request: the server's RFC 9457 body, or one made here if there is none.
export class Problem extends Error {
  constructor({ type, title, status = 0, detail, field, index, limit, instance }) {
    super(detail || title);
    Object.assign(this, { type, title, status, detail, field, index, limit, instance });
  }
}

// Api calls the server of the page. It fires "denied" when the server requires a different
// token.
export class Api extends EventTarget {
  #base;
  #storage;

  constructor(base, storage) {
    super();
    this.#base = base;
    this.#storage = storage;
  }

  get token() {
    return this.#storage.getItem(KEY) ?? "";
  }

  set token(value) {
    if (value) this.#storage.setItem(KEY, value);
    else this.#storage.removeItem(KEY);
  }

  // get returns the JSON at a path below the base, post that of the answer to a body; both
  // throw a Problem, or an AbortError. A post that is repeated with the same key counts once.
  async get(path, signal) {
    return parse(await this.text(path, signal));
  }

  async post(path, body, signal, key) {
    return parse(await this.#ask(path, { method: "POST", body: write(body), signal, key }));
  }

  // put is post by the method PUT, remove deletes what is at a path, or what a body names there.
  async put(path, body, signal, key) {
    return parse(await this.#ask(path, { method: "PUT", body: write(body), signal, key }));
  }

  async remove(path, signal, body) {
    await this.#ask(path, { method: "DELETE", signal, ...(body ? { body: write(body) } : {}) });
  }

  // upload stores a file, and returns what the server says of it; progress is called with the share that was sent.
  upload(file, progress, signal) {
    const form = new FormData();
    form.append("purpose", "page");
    form.append("file", file);
    return new Promise((done, fail) => {
      const request = new XMLHttpRequest(); // fetch has no progress
      request.open("POST", new URL("v1/files", this.#base));
      if (this.token) request.setRequestHeader("Authorization", `Bearer ${this.token}`);
      request.upload.addEventListener("progress", (e) => progress(e.total > 0 ? e.loaded / e.total : 0));
      request.addEventListener("abort", () => fail(new DOMException("The upload was cancelled", "AbortError")));
      request.addEventListener("error", () => fail(new Problem(UNREACHED)));
      request.addEventListener("load", () => {
        try {
          done(parse(this.#checked(request.status, request.getResponseHeader("Content-Type"), request.responseText, request.statusText)));
        } catch (problem) {
          fail(problem);
        }
      });
      signal?.addEventListener("abort", () => request.abort());
      request.send(form);
    });
  }

  // file returns the content of a stored file.
  async file(id, signal) {
    const path = `v1/files/${encodeURIComponent(id)}/content`;
    const answer = await this.#fetch(path, { signal });
    if (!answer.ok) this.#checked(answer.status, answer.headers.get("Content-Type"), await answer.text(), answer.statusText);
    return answer.blob();
  }

  // text is get for other content than JSON.
  text(path, signal) {
    return this.#ask(path, { signal });
  }

  async #ask(path, { key, ...options }) {
    const headers = {};
    if (key) headers["Idempotency-Key"] = key;
    if (options.body !== undefined) headers["Content-Type"] = "application/json";
    const answer = await this.#fetch(path, { ...options, headers });
    return this.#checked(answer.status, answer.headers.get("Content-Type"), await answer.text().catch(lost), answer.statusText);
  }

  #fetch(path, { headers = {}, ...options }) {
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    return fetch(new URL(path, this.#base), { ...options, headers, cache: "no-store", redirect: "error" }).catch(lost);
  }

  // #checked returns the text of an answer, or throws its problem.
  #checked(status, media, text, title) {
    if (status >= 200 && status < 300) return text;
    if (status === 401) this.dispatchEvent(new Event("denied"));
    throw failure(status, media, text, title);
  }
}

const UNREACHED = { title: "The server does not answer", detail: "Is it running, and is the network up?" };

// lost throws the problem of a request that got no answer.
function lost(error) {
  throw error.name === "AbortError" ? error : new Problem(UNREACHED);
}

function failure(status, media, text, title) {
  if (/^application\/problem\+json\b/.test(media ?? "")) {
    try {
      return new Problem({ status, ...read(text) });
    } catch {
      // Truncated: only the status is known.
    }
  }
  return new Problem({ title: title || `The server answered ${status}`, status });
}

// parse reads JSON; ids stay exact.
function parse(text) {
  try {
    return read(text);
  } catch {
    throw new Problem({ title: "The answer is not JSON", detail: "Is this the address of a thresher server?" });
  }
}
