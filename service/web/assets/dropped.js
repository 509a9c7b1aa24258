// What a dropped file seems to hold, so that the dialog has a default; the server reads the file and has the last word.

const HEAD = 64 << 10; // bytes read of each end of a file

// kindOf returns "vectors" or "answers".
export async function kindOf(file) {
  const name = file.name.toLowerCase();
  if (/\.(ivecs|ibin|trec|run|qrels)(\.gz)?$/.test(name)) return "answers";
  if (/\.(fvecs|bvecs|fbin|f16bin|u8bin|i8bin|safetensors|idx)(\.gz)?$/.test(name)) return "vectors";
  const head = await text(file.slice(0, HEAD));
  if (name.endsWith(".npy")) return /'descr':\s*'[<>|=]?i[48]/.test(head) ? "answers" : "vectors";
  if (name.endsWith(".csv")) return speaksOfAnswers(head.split("\n", 1)[0]) ? "answers" : "vectors";
  if (/\.(json|jsonl|ndjson)$/.test(name)) return speaksOfAnswers(head.slice(0, 4096)) ? "answers" : "vectors";
  // npz and Parquet list their names at the end, Arrow at the beginning.
  return speaksOfAnswers(head.slice(0, 4096) + (await text(file.slice(Math.max(0, file.size - HEAD))))) ? "answers" : "vectors";
}

// speaksOfAnswers reports whether names of a file are those of answers: ids of neighbours beside scores, or of queries.
const speaksOfAnswers = (names) =>
  /\b(query|query_id|qid|neighbors|neighbours|indices|hits|answers|labels|distances|scores)\b/i.test(names) && !/\b(vector|embedding|atoms)s?\b/i.test(names);

// text reads bytes as Latin-1, in which names of ASCII can be found in any file.
async function text(blob) {
  return new TextDecoder("latin1").decode(await blob.arrayBuffer());
}

// nameFor makes the name of a collection of that of a file.
export function nameFor(file) {
  const stem = file.name.replace(/(\.[a-z0-9]{1,12})?\.[a-z0-9]{1,12}$/i, "").replace(/[^A-Za-z0-9._-]+/g, "-");
  return stem.replace(/^[^A-Za-z0-9]+/, "").slice(0, 64) || "vectors";
}

// isTable reports whether a file can have columns beside the vectors.
export const isTable = (file) => /\.(parquet|arrow|feather|csv|jsonl|ndjson)(\.gz)?$/i.test(file.name);
