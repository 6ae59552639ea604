// Buttons with data-copy copy the text of the element with that id.
(() => {
  "use strict";

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        // Not allowed here: the text is selected, and the user can copy it.
        getSelection().selectAllChildren(source);
      }
    });
  }
})();
