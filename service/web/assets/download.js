// Links to stored files.

import { element } from "./element.js";
import { describe } from "./problem.js";

// downloads puts into a box one link for each pair of a word and the id of a file, which is undefined or null while there is none. The
// browser itself does not send the token, so with one the page reads the file and gives it to the browser.
export function downloads(api, box, files) {
  const there = files.filter(([, id]) => id);
  const shown = there.map(([, id]) => id).join(" ");
  if (box.dataset.files === shown) return; // the focus may be in it
  box.dataset.files = shown;
  box.replaceChildren(...there.flatMap(([word, id], i) => [...(i > 0 ? [" "] : []), link(api, box, word, id)]));
}

function link(api, box, word, id) {
  const href = `v1/files/${encodeURIComponent(id)}/content`;
  const follow = async (event) => {
    if (!api.token) return;
    event.preventDefault();
    try {
      const at = URL.createObjectURL(await api.file(id));
      element("a", { href: at, download: id }).click();
      setTimeout(() => URL.revokeObjectURL(at), 60_000);
    } catch (problem) {
      box.append(describe(problem));
    }
  };
  return element("a", { href, download: "", onclick: follow }, `Download the ${word}`);
}
