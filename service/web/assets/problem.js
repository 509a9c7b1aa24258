// What is shown of a failed request.

import { element } from "./element.js";
import { write } from "./json.js";

// describe makes an element with the members of a Problem.
export function describe(p) {
  const facts = [
    ["field", p.field],
    ["index", p.index],
    [
      "limit",
      p.limit === undefined ? undefined : typeof p.limit === "object" ? write(p.limit) : String(p.limit),
    ],
    ["status", p.status || undefined],
    ["kind", p.type?.split("/").at(-1)],
    ["request", p.instance],
  ].filter(([, value]) => value !== undefined);
  const shown = brief(p);
  shown.append(
    element("dl", {}, ...facts.map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, String(value))))),
  );
  return shown;
}

// brief makes an element with the title and the detail of a Problem, for pages whose fields have other names than those of the API.
export function brief(p) {
  const detail = p.detail ? [element("p", {}, p.detail)] : [];
  return element("div", { class: "problem" }, element("h3", {}, p.title ?? "This failed"), ...detail);
}
