// Refuses files that are too large before they are sent, in one sentence; the server would refuse
// them as well (_upload.py), but only its page can tell at once. A file that is dropped on the page
// goes the way of the button that opens files of its kind.
(() => {
  const MOST = __MAX_UPLOAD_BYTES__;

  function say(text) {
    document.querySelector(".exactik-refusal")?.remove();
    const box = document.createElement("div");
    box.className = "exactik-refusal";
    box.setAttribute("role", "alert");
    box.textContent = text;
    box.style.cssText =
      "position:fixed;top:12px;left:50%;transform:translateX(-50%);z-index:10000;max-width:34em;" +
      "padding:0.7em 1em;border-radius:6px;border:1px solid #c81e1e;background:#fff;color:#1a1a1a;" +
      "font:14px system-ui,sans-serif;box-shadow:0 2px 10px rgba(0,0,0,0.25);cursor:pointer";
    box.onclick = () => box.remove();
    document.body.append(box);
  }

  const check = (event) => {
    const input = event.target;
    if (!(input instanceof HTMLInputElement) || input.type !== "file") return;
    const large = Array.from(input.files ?? []).find((file) => file.size > MOST);
    if (!large) return;
    event.stopImmediatePropagation();
    input.value = "";
    say(
      `${large.name} has ${Math.round(large.size / 1e6)} MB; a page opens files of up to ` +
        `${Math.round(MOST / 1e6)} MB. Give it to the command instead: exactik play FILE.`,
    );
  };
  function findInput(file) {
    const suffix = (file.name.match(/\.[^.]+$/)?.[0] ?? "").toLowerCase();
    const inputs = Array.from(document.querySelectorAll("input[type=file]"));
    return inputs.find((input) => input.accept.split(",").includes(suffix));
  }

  window.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  window.addEventListener("drop", (event) => {
    const [file] = event.dataTransfer?.files ?? [];
    if (!file) return;
    event.preventDefault(); // or the browser would leave the page for the file
    const input = findInput(file);
    if (!input) return say(`${file.name}: no button of this page opens files of this kind.`);
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
  window.addEventListener("change", check, true);
  window.addEventListener("input", check, true);
})();
