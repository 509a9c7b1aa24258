// The chart of a search's survivors after each look.

import { element, shape, table } from "./element.js";
import { count, figure, short } from "./number.js";

const HEIGHT = 240;
const EDGE = { top: 18, right: 28, bottom: 44, left: 44 };
const LABEL = 76; // width that a label takes, in pixels

// Picture draws the looks of a certificate into a box, and again when the box changes its
// width.
export class Picture {
  #box;
  #looks = [];
  #wanted = 0;

  constructor(box) {
    this.#box = box;
    new ResizeObserver(() => this.#draw()).observe(box);
  }

  // show draws these looks, with a line at the number of requested rows.
  show(looks, wanted) {
    this.#looks = looks;
    this.#wanted = wanted;
    this.#draw();
  }

  #draw() {
    const width = this.#box.clientWidth;
    if (width === 0) return; // hidden
    this.#box.replaceChildren(
      this.#looks.length
        ? plot(this.#looks, this.#wanted, width)
        : element("p", { class: "empty" }, "No looks: every row was scored in full."),
    );
  }
}

// figures returns the same data as a table.
export function figures(looks) {
  return table(
    "Looks of the search",
    ["look", "reads", "coordinates", "rule", "α a row", "rows before", "rows after"],
    looks.map((l, i) => [
      i + 1,
      l.reads,
      count(l.width),
      l.rule,
      l.alpha > 0 ? l.alpha.toExponential(1) : "0",
      count(l.seen),
      count(l.survivors),
    ]),
  );
}

function plot(looks, wanted, width) {
  const most = Math.max(...looks.map((l) => l.seen), 1);
  const decades = Math.max(1, Math.ceil(Math.log10(most)));
  const right = width - EDGE.right;
  const bottom = HEIGHT - EDGE.bottom;
  const x = (i) => EDGE.left + ((right - EDGE.left) * i) / looks.length;
  const y = (n) => bottom - ((bottom - EDGE.top) * Math.log10(Math.max(n, 1))) / decades;
  const svg = shape("svg", {
    role: "img",
    "aria-label": story(looks),
    width,
    height: HEIGHT,
    viewBox: `0 0 ${width} ${HEIGHT}`,
  });

  for (let d = 0; d <= decades; d++) {
    const at = y(10 ** d);
    svg.append(
      shape("line", { class: "grid", x1: EDGE.left, x2: right, y1: at, y2: at }),
      shape("text", { class: "tick", x: EDGE.left - 8, y: at + 4, "text-anchor": "end" }, short(10 ** d)),
    );
  }

  // Between two looks the threshold rises, which drops rows without reading them, so a
  // look may see fewer rows than the previous one kept.
  const steps = [[x(0), y(looks[0].seen)]];
  looks.forEach((l, i) => {
    if (i > 0) steps.push([x(i), y(l.seen)]);
    steps.push([x(i + 1), y(l.survivors)]);
  });
  const line = steps.map((p) => p.map((v) => v.toFixed(1)).join(",")).join(" ");
  svg.append(
    shape("polygon", { class: "area", points: `${x(0)},${bottom} ${line} ${x(looks.length)},${bottom}` }),
    shape("polyline", { class: "line", points: line }),
  );
  if (wanted > 0 && wanted < most) {
    svg.append(
      shape("line", { class: "wanted", x1: EDGE.left, x2: right, y1: y(wanted), y2: y(wanted) }),
      shape("text", { class: "wanted-label", x: EDGE.left + 6, y: y(wanted) - 5 }, `k = ${count(wanted)}`),
    );
  }

  const every = Math.ceil((looks.length * LABEL) / (right - EDGE.left));
  mark(svg, x(0), y(looks[0].seen), count(looks[0].seen), "start");
  tick(svg, x(0), bottom, "start", "all rows", "");
  looks.forEach((l, i) => {
    const last = i === looks.length - 1;
    const labelled = last || ((i + 1) % every === 0 && i + every < looks.length);
    mark(svg, x(i + 1), y(l.survivors), labelled ? count(l.survivors) : "", "middle");
    if (labelled)
      tick(
        svg,
        x(i + 1),
        bottom,
        last ? "end" : "middle",
        `look ${i + 1}`,
        l.reads === "codes" ? "whole rows" : `${short(l.width)} coord.`,
      );
  });
  return svg;
}

function mark(svg, x, y, text, anchor) {
  svg.append(shape("circle", { class: "mark", cx: x, cy: y, r: 4 }));
  if (text)
    svg.append(
      shape("text", { class: "value", x: anchor === "start" ? x + 8 : x, y: y - 8, "text-anchor": anchor }, text),
    );
}

function tick(svg, x, bottom, anchor, first, second) {
  const shift = { start: -12, middle: 0, end: 20 }[anchor];
  svg.append(
    shape("text", { class: "tick", x: x + shift, y: bottom + 18, "text-anchor": anchor }, first),
    shape("text", { class: "tick faint", x: x + shift, y: bottom + 34, "text-anchor": anchor }, second),
  );
}

// story describes the chart in words, for screen readers.
function story(looks) {
  const steps = looks.map((l, i) => `after look ${i + 1} ${count(l.survivors)}`);
  return `Rows still in question: ${count(looks[0].seen)} at the start, ${steps.join(", ")}, ${figure((100 * looks.at(-1).survivors) / Math.max(looks[0].seen, 1))}% in the end.`;
}
