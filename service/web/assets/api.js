// The service's API, called with the token of this tab.

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

  // text is get for other content than JSON.
  text(path, signal) {
    return this.#ask(path, { signal });
  }

  async #ask(path, { key, ...options }) {
    const headers = {};
    if (key) headers["Idempotency-Key"] = key;
    if (options.body !== undefined) headers["Content-Type"] = "application/json";
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    let answer;
    let text;
    try {
      answer = await fetch(new URL(path, this.#base), { ...options, headers, cache: "no-store", redirect: "error" });
      text = await answer.text();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem({ title: "The server does not answer", detail: "Is it running, and is the network up?" });
    }
    if (answer.ok) return text;
    if (answer.status === 401) this.dispatchEvent(new Event("denied"));
    throw failure(answer, text);
  }
}

function failure(answer, text) {
  if (/^application\/problem\+json\b/.test(answer.headers.get("Content-Type") ?? "")) {
    try {
      return new Problem({ status: answer.status, ...JSON.parse(text) });
    } catch {
      // Truncated: only the status is known.
    }
  }
  return new Problem({ title: answer.statusText || `The server answered ${answer.status}`, status: answer.status });
}

// parse reads JSON; integers that a double cannot represent become BigInt, so that ids stay
// exact. If the browser does not provide a number's text, they are rounded.
function parse(text) {
  try {
    return JSON.parse(text, (_, value, context) =>
      typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
        ? BigInt(context.source)
        : value,
    );
  } catch {
    throw new Problem({ title: "The answer is not JSON", detail: "Is this the address of a thresher server?" });
  }
}

function write(body) {
  return JSON.stringify(body, (_, value) =>
    typeof value !== "bigint" ? value : JSON.rawJSON ? JSON.rawJSON(String(value)) : Number(value),
  );
}
