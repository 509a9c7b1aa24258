// What is shown of a failed request on the page of tournaments.

import { element } from "./element.js";

// describe makes an element with the title, the detail and the field of a Problem.
export function describe(problem) {
  const where = [problem.field, problem.index === undefined ? "" : `number ${problem.index + 1}`].filter(Boolean).join(", ");
  return element(
    "div",
    { class: "problem" },
    element("h3", {}, problem.title ?? "This failed"),
    element("p", {}, [problem.detail, where && `(${where})`].filter(Boolean).join(" ")),
  );
}
