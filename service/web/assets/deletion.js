// The dialog that deletes a collection, once its name is typed.

import { element, say, whileBusy } from "./element.js";
import { plural } from "./number.js";
import { describe } from "./problem.js";

// askDeletion lets a button delete the selected collection; gone is called afterwards.
export function askDeletion(api, button, collections, gone) {
  let name = "";
  const what = element("p", { id: "delete-what" });
  const problem = element("div", { role: "alert" });
  const input = element("input", { id: "delete-name", autocomplete: "off", spellcheck: "false", "aria-describedby": "delete-what" });
  const confirm = element("button", { type: "submit", class: "danger", disabled: true }, "Delete it");
  const form = element(
    "form",
    {},
    element("h2", { id: "delete-heading" }, "Delete a collection"),
    what,
    element("label", { for: "delete-name" }, "Its name"),
    input,
    problem,
    element("div", { class: "buttons" }, confirm, element("button", { type: "button", onclick: () => dialog.close() }, "Cancel")),
  );
  const dialog = element("dialog", { id: "delete-dialog", "aria-labelledby": "delete-heading" }, form);
  document.body.append(dialog);

  collections.addEventListener("refreshed", show);
  document.getElementById("collections").addEventListener("input", show);
  function show() {
    const { chosen } = collections;
    button.hidden = !chosen;
    if (chosen) say(button, `Delete ${chosen.name} …`);
  }

  button.addEventListener("click", () => {
    const { chosen } = collections;
    if (!chosen) return;
    ({ name } = chosen);
    input.value = "";
    confirm.disabled = true;
    problem.replaceChildren();
    say(what, `${name} has ${plural(chosen.count, "row")}. They are deleted for good, with all that was learned on them. To delete them, type ${name}.`);
    dialog.showModal();
  });
  input.addEventListener("input", () => {
    confirm.disabled = input.value !== name;
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (input.value !== name || confirm.disabled) return;
    problem.replaceChildren();
    await whileBusy(confirm, async () => {
      try {
        await api.remove(`v1/collections/${encodeURIComponent(name)}`);
        dialog.close();
        gone(name);
      } catch (error) {
        problem.replaceChildren(describe(error));
      }
    });
  });
}
