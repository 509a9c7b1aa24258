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

// whileBusy disables a button during a task, and gives it back the focus that it loses by that.
export async function whileBusy(button, task) {
  const focused = document.activeElement === button;
  button.disabled = true;
  try {
    await task();
  } finally {
    button.disabled = false;
    if (focused && [document.body, button, null].includes(document.activeElement)) button.focus();
  }
}

// quoted puts a text of a user into a sentence, isolated if it may run from right to left.
export const quoted = (text) => (RIGHT_TO_LEFT.test(text) ? `“\u2068${text}\u2069”` : `“${text}”`);

const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff]/;

// table makes a table with one heading a column and rows of cells, each a text, a number or a node.
// A column with figures is right-aligned, its heading too.
export function table(caption, headings, rows) {
  const figures = headings.map((_, at) => rows.some((row) => isFigure(row[at])));
  const cell = (name, attributes, content, at) =>
    element(name, { ...attributes, class: figures[at] ? "figure" : null }, content instanceof Node ? content : String(content));
  return element(
    "table",
    {},
    element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, ...headings.map((h, at) => cell("th", { scope: "col" }, h, at)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((c, at) => cell("td", {}, c, at))))),
  );
}

const isFigure = (content) => typeof content === "number" || (typeof content === "string" && /^[−\d]/.test(content));
