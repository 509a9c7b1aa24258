// Elements of the document, made without markup strings.

const SVG = "http://www.w3.org/2000/svg";

// element makes an HTML element with these attributes and children (nodes or texts). An
// attribute whose value is false, null or undefined is omitted; one whose name begins with
// "on" is a listener.
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

// shape is element for SVG.
export function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

// say sets an element's text unless it is equal already, because screen readers repeat a live
// region that is set again.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// table makes a table with one heading a column and rows of cells; numeric cells are
// right-aligned.
export function table(caption, headings, rows) {
  const cell = (c) => element("td", { class: typeof c === "number" || /^[−\d]/.test(c) ? "figure" : null }, String(c));
  return element(
    "table",
    {},
    element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, ...headings.map((h) => element("th", { scope: "col" }, h)))),
    element(
      "tbody",
      {},
      ...rows.map((r) => element("tr", {}, ...r.map((c) => (c instanceof Node ? element("td", {}, c) : cell(c))))),
    ),
  );
}
