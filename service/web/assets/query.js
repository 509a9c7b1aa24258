// The syntax of the search box.

import { Problem } from "./api.js";

// read returns the {vector} or {id} of a text. A vector is a JSON array, or numbers separated
// by commas, semicolons or spaces. Everything else is an id, in quotes if it would be read as
// a vector. It throws a Problem that names the element.
export function read(text) {
  text = text.trim();
  if (!text) throw wrong("The box is empty: enter the id of a row, or a vector.");
  if (text.startsWith("[")) return { vector: array(text) };
  if (text.length > 1 && text.startsWith('"') && text.endsWith('"')) return { id: quoted(text) };
  const words = text.split(/\s*[,;]\s*|\s+/);
  if (words.length > 1 && isNumber(words[0])) {
    if (words.at(-1) === "") words.pop(); // a trailing comma
    return { vector: words.map(number) };
  }
  return { id: text };
}

function array(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong("This starts like a JSON array but is not one.");
  }
  if (value.length === 1 && Array.isArray(value[0])) value = value[0]; // a matrix of one row
  value.forEach((x, i) => {
    if (typeof x !== "number") throw wrong(`Element ${i} of the vector is not a number.`, i);
  });
  return value;
}

function quoted(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function number(word, i) {
  if (!isNumber(word)) throw wrong(`Element ${i} of the vector, “${word.slice(0, 20)}”, is not a number.`, i);
  return Number(word);
}

const isNumber = (word) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word);

const wrong = (detail, index) => new Problem({ title: "The query is malformed", detail, field: "query", index });
