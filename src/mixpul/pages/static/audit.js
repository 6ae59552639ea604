// Moves the threshold on the page of an audit: it looks up texts that Python has written.
//
// The element "slider-data" holds the thresholds, the boundaries between neighbouring ones, and what
// each element with data-show says (names), one list of texts for each threshold.
(() => {
  "use strict";

  const find = (id) => document.getElementById(id);
  const findAll = (selector) => [...document.querySelectorAll(selector)];
  const data = JSON.parse(find("slider-data").textContent);
  const slider = find("slider");
  const number = find("number");
  const cursors = findAll(".cursor");

  const moveTo = (to) => {
    const place = Math.min(Math.max(to, 0), data.thresholds.length - 1);
    const texts = Object.fromEntries(data.names.map((name, k) => [name, data.texts[place][k]]));
    for (const element of findAll("[data-show]")) element.textContent = texts[element.dataset.show];
    slider.value = place;
    slider.setAttribute("aria-valuetext", texts.threshold);
    number.value = texts.threshold;
    for (const button of findAll("[data-place]")) {
      button.setAttribute("aria-pressed", Number(button.dataset.place) === place);
    }
    for (const cursor of cursors) {
      const [low, high, start, end] = ["low", "high", "start", "end"].map((key) => Number(cursor.dataset[key]));
      const pixel = start + ((end - start) * (data.thresholds[place] - low)) / (high - low);
      for (const side of ["x1", "x2"]) cursor.setAttribute(side, pixel);
    }
  };

  slider.addEventListener("input", () => moveTo(Number(slider.value)));
  number.addEventListener("change", () => {
    const value = number.valueAsNumber;
    // Which threshold is nearest is laid down in Python by the boundaries: here they are counted.
    const near = data.boundaries.filter((boundary) => boundary < value).length;
    moveTo(Number.isNaN(value) ? Number(slider.value) : near);
  });
  for (const button of findAll("[data-place]")) {
    button.addEventListener("click", () => moveTo(Number(button.dataset.place)));
  }

  // Without a script the page shows the first threshold and no slider.
  document.querySelector(".slider").hidden = false;
  moveTo(Number(slider.value));
})();
