// The dialog that asks for a bearer token.

// askToken opens the dialog when the server requires a token, once for each token, and when
// its button is pressed; changed is called afterwards.
export function askToken(api, { dialog, input, button, why }, changed) {
  let asked = false;
  const usual = why.textContent;

  function open() {
    input.value = "";
    button.hidden = false;
    dialog.returnValue = "cancel";
    dialog.showModal();
  }

  button.hidden = !api.token;
  button.addEventListener("click", open);
  api.addEventListener("denied", () => {
    why.textContent = api.token
      ? "The server does not accept this tab’s token. Enter another."
      : usual;
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
    why.textContent = usual;
    changed();
  });
}
