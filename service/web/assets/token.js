// The dialog that asks for a bearer token, of every page.

import { element } from "./element.js";

const REQUIRED = "This server requires a token. The page keeps it until this tab is closed.";
const REFUSED = "The server does not accept this tab’s token. Enter another.";

// askToken adds the dialog to the page. It opens when the server requires a token, once for each
// token, and when the button is pressed; changed is called afterwards.
export function askToken(api, button, changed) {
  let asked = false;
  const why = element("p", { id: "token-why" }, REQUIRED);
  const input = element("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": "token-why",
  });
  const answer = (value, text, more) => element("button", { type: "submit", value, ...more }, text);
  const dialog = element(
    "dialog",
    { id: "token-dialog", "aria-labelledby": "token-heading" },
    element(
      "form",
      { method: "dialog" },
      element("h2", { id: "token-heading" }, "Bearer token"),
      why,
      element("label", { for: "token" }, "Token"),
      input,
      element(
        "div",
        { class: "buttons" },
        answer("keep", "Use it", { class: "primary" }),
        answer("forget", "Forget it"),
        answer("cancel", "Cancel", { formnovalidate: true }),
      ),
    ),
  );
  document.body.append(dialog);

  function open() {
    input.value = "";
    button.hidden = false;
    dialog.returnValue = "cancel";
    dialog.showModal();
  }

  button.hidden = !api.token;
  button.addEventListener("click", open);
  api.addEventListener("denied", () => {
    why.textContent = api.token ? REFUSED : REQUIRED;
    if (asked || dialog.open) return;
    asked = true;
    open();
  });
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "keep") api.token = input.value.trim();
    else if (dialog.returnValue === "forget") api.token = "";
    else return;
    input.value = "";
    asked = false;
    why.textContent = REQUIRED;
    changed();
  });
}
