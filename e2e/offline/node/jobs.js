// An offline job by the package openai for Node, from the upload to the answers, and
// what its user reads of an error: one line of JSON.
//
//     node jobs.js BASE_URL ENDPOINT INPUT LONG_INPUT
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";

const [baseURL, endpoint, input, long] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const final = new Set(["completed", "failed", "expired", "cancelled"]);

async function finished(batch) {
  while (!final.has(batch.status)) {
    await sleep(20);
    batch = await client.batches.retrieve(batch.id);
  }
  return batch;
}

async function refused(ask) {
  try {
    await ask();
  } catch (error) {
    return { status: error.status, code: error.code, type: error.type, param: error.param, text: error.message };
  }
  return null;
}

async function listed(page) {
  const ids = [];
  for await (const item of page) ids.push(item.id);
  return ids;
}

const submit = (file) => client.batches.create({ input_file_id: file, endpoint, completion_window: "24h" });
const file = await client.files.create({ file: fs.createReadStream(input), purpose: "batch" });
const batch = await finished(await submit(file.id));
const output = await (await client.files.content(batch.output_file_id)).text();
const slow = await client.files.create({ file: fs.createReadStream(long), purpose: "batch" });
const begun = await submit(slow.id);
await client.batches.cancel(begun.id);
const cancelled = await finished(begun);

console.log(
  JSON.stringify({
    file: { id: file.id, filename: file.filename, bytes: file.bytes, purpose: file.purpose },
    slow: slow.id,
    status: batch.status,
    counts: batch.request_counts,
    output,
    files: await listed(client.files.list({ limit: 1 })),
    batches: await listed(client.batches.list({ limit: 1 })),
    made: [batch.id, begun.id],
    cancelled: cancelled.status,
    unknown: await refused(() => client.files.retrieve("file-none")),
    refused: await refused(() => submit("file-none")),
    deleted: (await client.files.delete(slow.id)).deleted,
  }),
);
