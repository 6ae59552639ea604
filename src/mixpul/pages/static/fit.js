// Moves the threshold on the page of a fit, and takes the class prior if the user knows it.
//
// Python has computed and rounded everything that the page shows at first. The element "slider-data" holds:
//   thresholds    the scores that the slider stops at
//   boundaries    between neighbouring thresholds, see findPlace
//   names, texts  what each element with data-show says, one list of texts for each threshold
//   impossible    the places at which the numbers contradict each other
//   prior         the class prior of these texts; null if it is not known and they are limits
//   recall, flagged, most_flagged, positives, unlabeled, all_unlabeled, pu_auc, upper, z, limit
//                 what it takes to compute the same for another class prior
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
  let prior = data.prior;
  let timer;

  // Which threshold is nearest, and which of two equally near ones is taken, is laid down in Python
  // by the boundaries: here they are only counted (thresholds.py, find_nearest).
  const findPlace = (value) => data.boundaries.filter((boundary) => boundary < value).length;
  const textsOfPython = (at) => Object.fromEntries(data.names.map((name, k) => [name, data.texts[at][k]]));
  // Only what follows from what the user types is formatted here, by the rules of numbers.py.
  const formatTenths = (share) => (Math.floor(1000 * share + 0.5) / 10).toFixed(1);
  const formatPercent = (share) => `${formatTenths(share)}\u00a0%`;
  const formatSpan = (low, high) => `${formatTenths(low)} to ${formatPercent(high)}`;
  const formatCount = (number) => Math.floor(number + 0.5).toLocaleString("en-US");
  const formatCost = (cost) => cost.toLocaleString("en-US", { maximumFractionDigits: cost < 100 ? 2 : 0 });

  // -- figures that rest on the class prior: the equations of mixpul/assess/figures.py ----------

  const isKnown = () => prior !== null;
  const clip = (share) => Math.min(Math.max(share, 0), 1);
  const figures = {
    precision: (share, recall, flagged) => Math.min(share * recall, flagged) / flagged,
    // 0 also where there are neither positives nor flagged rows.
    f1: (share, recall, flagged) => (2 * Math.min(share * recall, flagged)) / (share + flagged) || 0,
  };
  // Hidden positives are few themselves: the labeled ones are worth a look at so many of them.
  const countLookedAt = (share) => {
    const hidden = share * data.unlabeled;
    return (data.positives * hidden) / (data.positives + hidden);
  };
  // Wilson's interval of the recall among the hidden positives.
  const boundRecall = (recall, share) => {
    const n = countLookedAt(share);
    const square = data.z ** 2;
    const middle = (recall + square / (2 * n)) / (1 + square / n);
    const reach = (data.z * Math.sqrt((recall * (1 - recall)) / n + square / (4 * n * n))) / (1 + square / n);
    return [Math.min(Math.max(middle - reach, 0), recall), Math.max(Math.min(middle + reach, 1), recall)];
  };

  // The interval of the PU-AUC on the scale of log-odds; a perfect one has no log-odds.
  const boundAuc = (auc, se) => {
    if (auc <= 0 || auc >= 1) return boundRecall(auc, prior);
    const middle = Math.log(auc / (1 - auc));
    const reach = (data.z * se * Math.sqrt(data.positives / countLookedAt(prior))) / (auc * (1 - auc));
    return [middle - reach, middle + reach].map((logit) => 1 / (1 + Math.exp(-logit)));
  };

  // The value and both ends of precision or F1; a limit from 0 up if the prior is not known.
  const estimate = (name, at) => {
    const [recall, flagged] = [data.recall[at], data.flagged[at]];
    if (isKnown()) {
      const ends = boundRecall(recall, prior).map((end) => clip(figures[name](prior, end, flagged)));
      return [figures[name](prior, recall, flagged), ...ends];
    }
    const most = boundRecall(recall, data.upper)[1];
    // F1 is largest where all flagged rows are positive.
    const share = name === "f1" ? Math.min(data.upper, flagged / most) : data.upper;
    const value = figures[name](share, most, flagged);
    return [value, 0, value];
  };

  // Numbers of rows if this share of them is positive, and a share of those from low to high is flagged.
  const countRows = (share, low, high, flagged) => {
    const found = Math.min(share * high, flagged);
    const shares = { found, missed: share - Math.min(share * low, flagged), false_alarms: flagged - found };
    return Object.fromEntries(Object.entries(shares).map(([name, one]) => [name, data.all_unlabeled * one]));
  };
  const countAt = (at) => {
    const [recall, flagged] = [data.recall[at], data.flagged[at]];
    if (isKnown()) return countRows(prior, recall, recall, flagged);
    return countRows(data.upper, ...boundRecall(recall, data.upper), flagged);
  };

  const textsAt = (at) => {
    const texts = textsOfPython(at);
    if (prior === data.prior) return texts;
    for (const name of Object.keys(figures)) {
      const [value, low, high] = estimate(name, at);
      // No row is flagged: Python shows a dash for what is not known.
      if (Number.isNaN(value)) continue;
      texts[name] = (isKnown() ? "" : "\u2264 ") + formatPercent(value);
      texts[`${name}_span`] = isKnown() ? formatSpan(low, high) : data.limit;
    }
    const signs = isKnown() ? {} : { found: "\u2264 ", missed: "\u2264 ", false_alarms: "\u2265 " };
    for (const [name, number] of Object.entries(countAt(at))) texts[name] = (signs[name] ?? "") + formatCount(number);
    return texts;
  };

  // What the page says of the class prior and of the AUC against negatives, as Python wrote it or computed.
  const told = Object.fromEntries(findAll("[data-tell]").map((element) => [element.dataset.tell, element.textContent]));
  const tellPrior = () => {
    if (prior === data.prior) return told;
    const correct = (auc, share) => (share < 1 ? clip((auc - share / 2) / (1 - share)) : 1);
    const [auc, se, low] = data.pu_auc;
    if (isKnown()) {
      const ends = formatSpan(...boundAuc(auc, se).map((end) => correct(end, prior)));
      return {
        auc: `about ${formatPercent(correct(auc, prior))} (${ends})`,
        positives: formatCount(prior * data.all_unlabeled),
        prior: formatPercent(prior),
      };
    }
    const most = Math.max(correct(auc, data.upper), auc);
    return { auc: `${formatSpan(low, most)} (depending on the class prior)` };
  };
  const source = find("prior-source").textContent;

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

  const drawFigure = (name, series) => {
    // Charts of thresholds have cursors; samples in a legend have none.
    const cursor = cursors.find((one) => one.ownerSVGElement.querySelector(`.line.series-${series}`));
    const line = cursor.ownerSVGElement.querySelector(`.line.series-${series}`);
    const [top, bottom] = ["y1", "y2"].map((end) => Number(cursor.getAttribute(end)));
    const points = data.thresholds
      .map((threshold, at) => [threshold, ...estimate(name, at)])
      .filter(([, value]) => !Number.isNaN(value))
      .map(([threshold, ...shares]) => [
        pixelOf(cursor, threshold),
        ...shares.map((share) => bottom - (bottom - top) * share),
      ]);
    const write = (part) => points.map((point) => `${point[0].toFixed(1)} ${point[part].toFixed(1)}`);
    line.setAttribute("d", "M" + write(1).join("L"));
    const band = line.ownerSVGElement.querySelector(`.band.series-${series}`);
    band.setAttribute("points", [...write(3), ...write(2).reverse()].join(" "));
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
    const isTyped = alarm >= 0 && miss >= 0 && alarm + miss > 0;
    find("cost-negative").hidden = !isNegative;
    find("cost-unknown").hidden = isNegative || isTyped;
    find("cost-bounds").hidden = !isTyped || isKnown();
    find("cost-known").hidden = !isTyped || !isKnown();
    find("cost-chart").toggleAttribute("hidden", !isTyped || !isKnown());
    find("go-cheapest").hidden = true;
    if (!isTyped) return;
    const shown = { alarm, miss };
    const priceOf = (counts) => alarm * counts.false_alarms + miss * counts.missed;
    if (isKnown()) {
      const costs = data.thresholds.map((_, at) => priceOf(countAt(at)));
      // Of equally cheap thresholds the highest: it leaves the fewest rows to look at.
      cheapest = costs.lastIndexOf(Math.min(...costs));
      Object.assign(shown, { now: costs[place], least: costs[cheapest] });
      find("cheapest").textContent = textsAt(cheapest).threshold;
      find("cost-is-least").hidden = place !== cheapest;
      find("cost-is-more").hidden = place === cheapest;
      find("go-cheapest").hidden = place === cheapest;
      drawCosts(costs);
    } else {
      // The cost is a broken line over the share of positives: its ends and its bend are enough.
      const [recall, flagged] = [data.recall[place], data.flagged[place]];
      const bend = Math.min(flagged / recall || 0, data.upper);
      const costs = [0, bend, data.upper].map((share) => priceOf(countRows(share, recall, recall, flagged)));
      Object.assign(shown, { least_possible: Math.min(...costs), most_possible: Math.max(...costs) });
    }
    for (const element of findAll("[data-cost]")) {
      if (element.dataset.cost in shown) element.textContent = formatCost(shown[element.dataset.cost]);
    }
  };

  const isImpossible = (at) =>
    prior === data.prior ? data.impossible.includes(at) : isKnown() && prior * data.recall[at] > data.most_flagged[at];

  const showPrior = () => {
    for (const element of findAll("[data-when]")) element.hidden = (element.dataset.when === "estimates") !== isKnown();
    const sentences = tellPrior();
    for (const element of findAll("[data-tell]")) {
      if (element.dataset.tell in sentences) element.textContent = sentences[element.dataset.tell];
    }
    find("prior-source").textContent = prior === data.prior ? source : "given";
    for (const [name, series] of [["precision", 2], ["f1", 3]]) drawFigure(name, series);
    moveTo(place);
  };

  // Empty, or a share that the rows do not rule out; anything else is refused with a sentence.
  const takePrior = () => {
    const field = find("prior");
    const typed = field.valueAsNumber / 100;
    const isEmpty = field.value === "" && !field.validity.badInput;
    const isShare = typed > 0 && typed < 1;
    const state = isEmpty ? "unknown" : !isShare ? "invalid" : typed > data.upper && typed !== data.prior ? "impossible" : "known";
    for (const element of findAll("[data-prior]")) element.hidden = element.dataset.prior !== state;
    field.setAttribute("aria-invalid", state === "invalid" || state === "impossible");
    prior = state !== "known" ? null : Math.abs(typed - (data.prior ?? 2)) < 1e-9 ? data.prior : typed;
    showPrior();
  };

  const moveTo = (to) => {
    place = Math.min(Math.max(to, 0), data.thresholds.length - 1);
    const texts = textsAt(place);
    for (const element of findAll("[data-show]")) {
      const own = element.dataset.at === undefined ? texts : textsAt(Number(element.dataset.at));
      element.textContent = own[element.dataset.show];
    }
    slider.value = place;
    slider.setAttribute("aria-valuetext", texts.threshold);
    number.value = texts.threshold;
    for (const button of findAll("[data-place]")) {
      button.setAttribute("aria-pressed", Number(button.dataset.place) === place);
    }
    for (const cursor of cursors) {
      for (const end of ["x1", "x2"]) cursor.setAttribute(end, pixelOf(cursor, data.thresholds[place]));
    }
    find("impossible").hidden = !isImpossible(place);
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
  find("prior").addEventListener("input", takePrior);
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
  for (const element of [document.querySelector(".slider"), find("costs"), find("prior-box")]) element.hidden = false;
  // A page that comes back from the history may hold an older position, and another prior.
  place = Number(slider.value);
  takePrior();
})();
