// Formats of numbers.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const seven = new Intl.NumberFormat("en", {
  minimumSignificantDigits: 7,
  maximumSignificantDigits: 7,
  useGrouping: false,
});

// count formats an integer with all digits; short with three, and K, M, B.
export const count = (n) => whole.format(n);
export const short = (n) => compact.format(n);

// figure formats three significant digits, score the seven of a float32.
export const figure = (x) => three.format(x);
export const score = (x) => seven.format(Number(x)).replace("-", "−");

// share formats a ratio in percent.
export const share = (x) => `${three.format(100 * x)}%`;

export function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; n >= 999.5 && unit < units.length - 1; unit++) n /= 1000;
  return `${three.format(n)} ${units[unit]}`;
}

// span formats a time in seconds, in its two largest units.
export function span(seconds) {
  if (seconds < 1) return `${three.format(1000 * seconds)} ms`;
  if (seconds < 9.95) return `${three.format(seconds)} s`;
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  const minutes = Math.round(s / 60);
  return `${whole.format(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}

// plural returns "1 row", "2 rows".
export const plural = (n, noun) => `${count(n)} ${noun}${Number(n) === 1 ? "" : "s"}`;
