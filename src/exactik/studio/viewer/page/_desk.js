// Tells the server what viser does not: which tab is seen, where in a plot over time the mouse is
// pressed, what is done to the timeline. See _channel.py for the way it goes.
(() => {
  const PREFIX = "exactik:", KEPT = 16; // events in the field
  const LOOK_MS = 60; // between two looks at the panel
  const queue = [];
  let number = 0, tab = "";

  function findField() {
    for (const input of document.querySelectorAll("input:not([type]), input[type=text]"))
      if (input.value.startsWith(PREFIX)) return input;
    return null;
  }

  function tell(kind, event) {
    const field = findField();
    if (!field) return;
    queue.push({ ...event, kind, number: ++number });
    if (queue.length > KEPT) queue.shift();
    const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
    setter.call(field, PREFIX + JSON.stringify(queue)); // React keeps a setter of its own
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  window.exactikTell = tell;

  function look() {
    window.exactikTimeline?.();
    const field = findField();
    const row = field?.closest(".mantine-Flex-root")?.parentElement;
    if (row && row.style.display !== "none") row.style.display = "none";
    if (!field) return;
    const tabs = [...document.querySelectorAll("[data-exactik-tab]")]; // hidden ones stay
    const seen = tabs.find((node) => node.checkVisibility({ visibilityProperty: true }));
    const name = seen?.dataset.exactikTab ?? "";
    if (name === tab) return;
    tab = name;
    tell("tab", { name });
  }

  // A press in an element over all of time, or a drag from there, is heard as a share of it.
  let seeking = null, place = 0, asked = false;
  function seek(event) {
    const box = seeking.getBoundingClientRect();
    place = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    if (asked) return;
    asked = true; // the latest place, once a picture
    requestAnimationFrame(() => {
      asked = false;
      tell("seek", { share: place });
    });
  }
  window.addEventListener("pointerdown", (event) => {
    seeking = event.button === 0 ? event.target.closest?.("[data-exactik-seek]") : null;
    if (!seeking) return;
    event.stopPropagation(); // or the panel itself would be dragged
    event.preventDefault();
    seek(event);
    if (seeking.dataset.exactikSeek !== "rows") return;
    const { top, height } = seeking.getBoundingClientRect();
    tell("row", { share: Math.min(Math.max((event.clientY - top) / height, 0), 1) });
  }, true);
  window.addEventListener("pointermove", (event) => {
    if (!seeking) return;
    if (event.buttons & 1) seek(event);
    else seeking = null;
  }, true);
  window.addEventListener("pointerup", () => { seeking = null; }, true);

  setInterval(look, LOOK_MS);
})();
