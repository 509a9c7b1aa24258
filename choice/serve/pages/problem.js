// What is shown of a failed request on the page of tournaments.

import { element } from "./element.js";

// describe makes an element with the title and the detail of a Problem.
export function describe(problem) {
  return element(
    "div",
    { class: "problem" },
    element("h3", {}, problem.title ?? "This failed"),
    element("p", {}, problem.detail ?? ""),
  );
}
