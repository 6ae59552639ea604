// Shows the rows of a queue one at a time, keeps the answers, and saves them as a CSV file.
//
// The element "queue" holds:
//   key            the name under which this browser keeps the answers
//   columns, rows  the queue as a table of texts
//   id, shown      the column that names a row, or null, and the columns to show
//   images         of images: for each row an address that holds it, or null; null for tables
// A place is the number of a row in the queue, counted from 0; after the last one comes the end.
// Texts of the table are set as text, never as HTML.
(() => {
  "use strict";

  const find = (id) => document.getElementById(id);
  const queue = JSON.parse(find("queue").textContent);
  const columnOf = (name) => queue.columns.indexOf(name);
  const buttons = [...document.querySelectorAll("[data-answer]")];
  const keys = { y: "yes", n: "no", u: "unsure" };
  let answers = queue.rows.map((row) => row[columnOf("verdict")]);
  let place = 0;
  const history = [];

  // -- what is kept -----------------------------------------------------------------------------

  const keep = () => {
    try {
      localStorage.setItem(queue.key, JSON.stringify(answers));
    } catch {
      find("storage").hidden = false;
    }
  };

  const recall = () => {
    try {
      const kept = JSON.parse(localStorage.getItem(queue.key));
      if (Array.isArray(kept) && kept.length === answers.length) answers = kept;
    } catch {
      find("storage").hidden = false;
    }
    const open = answers.findIndex((answer) => !answer);
    place = open < 0 ? answers.length : open;
  };

  // -- what is shown ----------------------------------------------------------------------------

  const addText = (parent, tag, text) => {
    const element = document.createElement(tag);
    element.dir = "auto";
    element.textContent = text;
    parent.append(element);
  };

  const showImage = (address) => {
    find("image").hidden = !address;
    find("no-image").hidden = Boolean(address);
    if (address) find("image").src = address;
  };

  const showRow = () => {
    const row = queue.rows[place];
    const number = row[columnOf("mixpul_row")];
    find("name").textContent = queue.id === null ? `row ${number}` : `${queue.id} ${row[columnOf(queue.id)]}`;
    if (queue.images) showImage(queue.images[place]);
    find("values").replaceChildren();
    for (const name of queue.shown) {
      addText(find("values"), "dt", name);
      addText(find("values"), "dd", row[columnOf(name)] || "–");
    }
  };

  const show = () => {
    const isEnd = place === queue.rows.length;
    const n = answers.filter((answer) => answer).length;
    const isDone = isEnd && n === answers.length;
    // Past the last row come those that were skipped.
    if (isEnd && !isDone) place = answers.findIndex((answer) => !answer);
    find("card").hidden = isDone;
    find("done").hidden = !isDone;
    if (!isDone) showRow();
    for (const button of buttons) {
      button.disabled = isDone;
      button.setAttribute("aria-pressed", button.dataset.answer === answers[place]);
    }
    find("bar").value = n;
    const unit = queue.images ? "image" : "row";
    const where = isDone ? "" : `${unit} ${place + 1} of ${queue.rows.length}, `;
    find("progress").textContent = `${where}${n} answered`;
    find("back").disabled = place === 0;
    find("forward").disabled = isDone;
    find("undo").disabled = !history.length;
  };

  // -- what the user does -----------------------------------------------------------------------

  const answer = (word) => {
    if (place === queue.rows.length) return;
    history.push([place, answers[place]]);
    answers[place] = word;
    place += 1;
    keep();
    show();
  };

  const move = (step) => {
    const to = place + step;
    if (to < 0 || to > queue.rows.length) return;
    place = to;
    show();
  };

  const undo = () => {
    if (!history.length) return;
    const [at, before] = history.pop();
    answers[at] = before;
    place = at;
    keep();
    show();
  };

  const quote = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

  const save = () => {
    const at = columnOf("verdict");
    const rows = queue.rows.map((row, k) => row.map((cell, j) => (j === at ? answers[k] : cell)));
    const lines = [queue.columns, ...rows].map((cells) => cells.map(quote).join(","));
    // The mark at the front tells spreadsheets that it is UTF-8.
    const file = new Blob(["\ufeff" + lines.join("\r\n") + "\r\n"], { type: "text/csv" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = "answers.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  for (const button of buttons) button.addEventListener("click", () => answer(button.dataset.answer));
  find("back").addEventListener("click", () => move(-1));
  find("forward").addEventListener("click", () => move(1));
  find("undo").addEventListener("click", undo);
  find("save").addEventListener("click", save);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const word = keys[event.key.toLowerCase()];
    if (word) answer(word);
    else if (event.key === "ArrowLeft") move(-1);
    else if (event.key === "ArrowRight") move(1);
    else if (event.key === "Backspace") undo();
    else return;
    event.preventDefault();
  });

  find("review").hidden = false;
  recall();
  show();
})();
