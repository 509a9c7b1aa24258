// The columns of rows, in words.

import { element } from "./element.js";

const TOGETHER = 40; // rows of one request

// describeRows reads the columns of rows, and adds them below their ids in the table.
export async function describeRows(api, collection, ids, table, signal) {
  const cells = [...table.querySelectorAll("tbody td:nth-child(2)")];
  const boxes = cells.map((cell) => {
    const box = element("div", { class: "columns" });
    cell.append(box);
    return box;
  });
  await fillBoxes(api, collection, ids, boxes, signal);
}

// fillBoxes reads the columns of rows, and writes them into the boxes, one for each id. What cannot be read is left out: a row may have been
// deleted since.
export async function fillBoxes(api, collection, ids, boxes, signal) {
  for (let first = 0; first < ids.length; ) {
    const names = new URLSearchParams(ids.slice(first, first + TOGETHER).map((id) => ["id", String(id)]));
    let page;
    try {
      page = await api.get(`v1/collections/${encodeURIComponent(collection.name)}/rows?${names}`, signal);
    } catch {
      return;
    }
    page.data.forEach((row, i) => describeRow(boxes[first + i], row.columns ?? {}, collection.columns));
    first += page.data.length; // fewer than were asked for if their texts are long
  }
}

// describeRow writes the values of a row's columns into a box: texts last, because they are long.
function describeRow(box, values, columns) {
  const isText = ({ dtype }) => dtype.includes("text");
  const there = columns.filter(({ name }) => Object.hasOwn(values, name));
  const ordered = [...there.filter((c) => !isText(c)), ...there.filter(isText)];
  box.title = ordered.map(({ name }) => `${name}: ${[values[name]].flat().join(", ")}`).join("\n");
  ordered.forEach(({ name }, i) => {
    if (i > 0) box.append(" · ");
    box.append(element("span", { class: "name" }, name), " ", value(values[name]));
  });
}

// value is a value in words. An image is not loaded: the page's policy lets it load nothing from elsewhere, and data of images could be
// any size.
function value(v) {
  const text = [v].flat().join(", ");
  if (/^data:image\//i.test(text)) return element("em", {}, "an image, not shown");
  if (!/^https?:\/\/\S+$/i.test(text)) return element("bdi", {}, text); // whichever way it runs, the next column follows it
  const link = element("a", { href: text, target: "_blank", rel: "noopener noreferrer" }, text);
  return /\.(png|jpe?g|gif|webp|avif|svg)([?#].*)?$/i.test(text) ? element("span", {}, link, " ", element("em", {}, "(image, not loaded)")) : link;
}
