"use strict";
// Elements of a player's controls, which readers of screens can name.
const exactikElements = (() => {
  const make = (tag, name, text) => {
    const node = document.createElement(tag);
    if (name) node.className = name;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const button = (text, hint, act) => {
    const node = make("button", "", text);
    node.type = "button";
    node.title = hint;
    node.setAttribute("aria-label", hint);
    node.addEventListener("click", act);
    return node;
  };
  // A button that is pressed at first; `act` is called with whether it is.
  const toggle = (text, hint, act) => {
    const node = button(text, hint, () => {
      const isPressed = node.getAttribute("aria-pressed") !== "true";
      node.setAttribute("aria-pressed", String(isPressed));
      act(isPressed);
    });
    node.setAttribute("aria-pressed", "true");
    return node;
  };
  const choice = (label, options, act) => {
    const node = make("select");
    node.setAttribute("aria-label", label);
    node.title = label;
    for (const [value, text] of options) {
      const option = make("option", "", text);
      option.value = value;
      node.append(option);
    }
    node.addEventListener("change", () => act(node.value));
    return node;
  };
  return { make, button, toggle, choice };
})();
