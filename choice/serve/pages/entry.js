// What is typed on the page of tournaments, checked in its words; the server has the same limits.

import { Problem } from "./api.js";
import { quoted } from "./element.js";
import { count, plural } from "./number.js";

const LEAST_TEXTS = 2;
const MOST_CHARACTERS = 256; // of a text, and of a name

// judgeOf reads the name of the judge, "" if none is given.
export function judgeOf(input) {
  const name = input.value.trim();
  const length = [...name].length;
  if (length > MOST_CHARACTERS)
    throw refused("judge", "This name is too long", `It has ${count(length)} characters; at most ${MOST_CHARACTERS} are allowed.`);
  return name;
}

// textsOf reads the texts of a list, one a line; lines that show nothing are left out.
export function textsOf(input) {
  const lines = new Map(); // numbers of lines, by what is seen of them
  const all = [];
  input.value.split("\n").forEach((line, at) => {
    const seen = line.replace(UNSEEN, "");
    if (!seen) return;
    const number = at + 1;
    const length = [...line.trim()].length;
    if (length > MOST_CHARACTERS)
      throw refused("arms", "A text is too long", `Line ${number} has ${count(length)} characters; at most ${MOST_CHARACTERS} are allowed.`);
    if (lines.has(seen))
      throw refused("arms", "Two texts are the same", `Lines ${lines.get(seen)} and ${number} are both ${quoted(seen)}; all texts must differ.`);
    lines.set(seen, number);
    all.push(line.trim());
  });
  if (all.length < LEAST_TEXTS)
    throw refused("arms", "There is nothing to compare", `${plural(all.length, "text")}, one a line; at least ${LEAST_TEXTS} are needed.`);
  return all;
}

// UNSEEN are characters that show nothing at the ends of a text, as in choice/serve/tournaments/arms.go.
const UNSEEN = /^(?:(?![\u{e0000}-\u{e0fff}])[\p{Z}\p{Cc}\p{Cf}])+|(?:(?![\u{e0000}-\u{e0fff}])[\p{Z}\p{Cc}\p{Cf}])+$/gu;

// numberOf reads a number between the min and the max of its input, without either; undefined if it
// is optional and empty. symbol is its name on the page.
export function numberOf(input, symbol, optional) {
  const allowed = `a number between ${input.min} and ${input.max}, without either, is needed${optional ? ", or nothing" : ""}.`;
  const wrong = (what) => refused(input.name, `${symbol} is out of its range`, `${symbol} ${what}; ${allowed}`);
  if (input.validity.badInput) throw wrong("is not a number");
  if (input.value.trim() === "") {
    if (optional) return undefined;
    throw wrong("is missing");
  }
  const value = Number(input.value);
  if (!(Number(input.min) < value && value < Number(input.max))) throw wrong(`is ${input.value}`);
  return value;
}

const refused = (field, title, detail) => new Problem({ field, title, detail });
