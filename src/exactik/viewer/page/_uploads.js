// Refuses files that are too large before they are sent, in one sentence; the server would refuse
// them as well (_upload.py), but only its page can tell at once.
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
  window.addEventListener("change", check, true);
  window.addEventListener("input", check, true);
})();
