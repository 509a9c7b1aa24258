// JSON whose integers stay exact: ids have up to 64 bits, and a double has 53.

// read returns the value of a text. Integers that a double cannot represent become BigInt. If the browser does not provide a number's text,
// they are rounded.
export function read(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context.source)
      : value,
  );
}

// write returns the text of a value that may have BigInts, with lines that are indented if indent is given.
export function write(value, indent) {
  const exact = (_, v) => (typeof v !== "bigint" ? v : JSON.rawJSON ? JSON.rawJSON(String(v)) : Number(v));
  return JSON.stringify(value, exact, indent);
}
