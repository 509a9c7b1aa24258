// How the page shows the scores of a metric. For a metric that is not listed it shows search
// scores.

const products = { heading: "score", reach: "score up to", shown: (score) => score };

const metrics = {
  l2: { heading: "squared distance", reach: "be as near as a squared distance of", shown: (score) => -2 * score },
};

// metricOf returns the heading of a column of scores, the words for the bound of an unresolved
// row, and the function from a search score to what is shown.
export const metricOf = (name) => metrics[name] ?? products;
