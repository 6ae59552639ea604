// Moves the threshold on the page of a fit.
//
// Python has computed and rounded everything that is shown of a threshold. The element "slider-data" holds:
//   thresholds    the scores that the slider stops at
//   boundaries    between neighbouring thresholds, see findPlace
//   names, texts  what each element with data-show says, one list of texts for each threshold
//   false_alarms, missed   expected numbers, to be multiplied by the costs that the user types
//   impossible    the places at which the numbers contradict each other
// A place is the number of a threshold, counted from 0.
(() => {
  "use strict";

  const find = (id) => document.getElementById(id);
  const findAll = (selector) => [...document.querySelectorAll(selector)];
  const data = JSON.parse(find("slider-data").textContent);
  const slider = find("slider");
  const number = find("number");
  const cursors = findAll(".cursor");
  let place = Number(slider.value);
  let cheapest = place;
  let timer;

  // Which threshold is nearest, and which of two equally near ones is taken, is laid down in Python
  // by the boundaries: here they are only counted (thresholds.py, find_nearest).
  const findPlace = (value) => data.boundaries.filter((boundary) => boundary < value).length;
  const textsAt = (at) => Object.fromEntries(data.names.map((name, k) => [name, data.texts[at][k]]));
  // Only what the user types is formatted here.
  const formatCost = (cost) => cost.toLocaleString("en-US", { maximumFractionDigits: cost < 100 ? 2 : 0 });

  // -- charts: a cursor carries the ends of its axis, in numbers and in pixels ------------------

  const axisOf = (cursor) => ["low", "high", "start", "end"].map((end) => Number(cursor.dataset[end]));
  const pixelOf = (cursor, value) => {
    const [low, high, start, end] = axisOf(cursor);
    return start + ((end - start) * (value - low)) / (high - low);
  };
  const valueOf = (cursor, pixel) => {
    const [low, high, start, end] = axisOf(cursor);
    return low + ((high - low) * (pixel - start)) / (end - start);
  };

  const drawCosts = (costs) => {
    const cursor = find("cost-chart").querySelector(".cursor");
    const [top, bottom] = ["y1", "y2"].map((end) => Number(cursor.getAttribute(end)));
    const most = Math.max(...costs);
    const points = costs.map((cost, at) => [
      pixelOf(cursor, data.thresholds[at]),
      bottom - ((bottom - top) * cost) / most,
    ]);
    find("cost-line").setAttribute("d", "M" + points.map((point) => point.join(" ")).join("L"));
    find("cost-lowest").setAttribute("cx", points[cheapest][0]);
    find("cost-lowest").setAttribute("cy", points[cheapest][1]);
    find("cost-most").textContent = formatCost(most);
  };

  // -- what is shown ----------------------------------------------------------------------------

  const showCosts = () => {
    const alarm = find("alarm").valueAsNumber;
    const miss = find("miss").valueAsNumber;
    const isNegative = alarm < 0 || miss < 0;
    const isKnown = alarm >= 0 && miss >= 0 && alarm + miss > 0;
    find("cost-negative").hidden = !isNegative;
    find("cost-unknown").hidden = isNegative || isKnown;
    find("cost-known").hidden = !isKnown;
    find("cost-chart").toggleAttribute("hidden", !isKnown);
    find("go-cheapest").hidden = true;
    if (!isKnown) return;
    const costs = data.thresholds.map((_, at) => alarm * data.false_alarms[at] + miss * data.missed[at]);
    // Of equally cheap thresholds the highest: it leaves the fewest rows to look at.
    cheapest = costs.lastIndexOf(Math.min(...costs));
    const shown = { alarm, miss, now: costs[place], least: costs[cheapest] };
    for (const element of findAll("[data-cost]")) element.textContent = formatCost(shown[element.dataset.cost]);
    find("cheapest").textContent = textsAt(cheapest).threshold;
    find("cost-is-least").hidden = place !== cheapest;
    find("cost-is-more").hidden = place === cheapest;
    find("go-cheapest").hidden = place === cheapest;
    drawCosts(costs);
  };

  const moveTo = (to) => {
    place = Math.min(Math.max(to, 0), data.thresholds.length - 1);
    const texts = textsAt(place);
    for (const element of findAll("[data-show]")) element.textContent = texts[element.dataset.show];
    slider.value = place;
    slider.setAttribute("aria-valuetext", texts.threshold);
    number.value = texts.threshold;
    for (const button of findAll("[data-place]")) {
      button.setAttribute("aria-pressed", Number(button.dataset.place) === place);
    }
    for (const cursor of cursors) {
      for (const end of ["x1", "x2"]) cursor.setAttribute(end, pixelOf(cursor, data.thresholds[place]));
    }
    find("impossible").hidden = !data.impossible.includes(place);
    showCosts();
    // Said once the hand rests: a screen reader need not read out every step on the way.
    clearTimeout(timer);
    timer = setTimeout(() => {
      find("said").textContent = find("to-say").textContent;
    }, 400);
  };

  // -- what the user does -----------------------------------------------------------------------

  slider.addEventListener("input", () => moveTo(Number(slider.value)));
  number.addEventListener("change", () => {
    moveTo(Number.isNaN(number.valueAsNumber) ? place : findPlace(number.valueAsNumber));
  });
  number.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    moveTo(place + step);
  });
  for (const button of findAll("[data-place]")) {
    button.addEventListener("click", () => moveTo(Number(button.dataset.place)));
  }
  for (const id of ["alarm", "miss"]) find(id).addEventListener("input", showCosts);
  find("go-cheapest").addEventListener("click", () => {
    moveTo(cheapest);
    slider.focus();
  });
  for (const cursor of cursors) {
    const chart = cursor.ownerSVGElement;
    chart.addEventListener("click", (event) => {
      const box = chart.getBoundingClientRect();
      const pixel = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
      moveTo(findPlace(valueOf(cursor, pixel)));
    });
  }

  // Without a script the page shows the default threshold and none of these.
  for (const element of [document.querySelector(".slider"), find("costs")]) element.hidden = false;
  // A page that comes back from the history may hold an older position.
  moveTo(Number(slider.value));
})();
