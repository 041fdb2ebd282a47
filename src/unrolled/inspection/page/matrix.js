// A panel's matrix: a row for each target piece, a column for each source piece.

/** The colour of each of the 256 levels, along the stops of a custom property of the style. */
function ramp(name) {
  const stops = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).split(",").map((stop) => {
    const digits = stop.trim().slice(1);
    const wide = digits.length === 3 ? [...digits].map((digit) => digit + digit).join("") : digits;
    return [0, 2, 4].map((place) => parseInt(wide.slice(place, place + 2), 16));
  });
  return Array.from({ length: 256 }, (_, level) => {
    const at = (level / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    return `rgb(${stops[low].map((from, c) => Math.round(from + (at - low) * (stops[low + 1][c] - from))).join()})`;
  });
}
let RAMPS = null;

/** Take the colours from the style, which differs by day and by night. */
function readRamps() {
  RAMPS = { weights: ramp("weights"), memory: ramp("memory") };
}
readRamps();

function drawMatrix(panel) {
  const { source, pieces, bar, picture } = panel;
  const shade = panel.shades[state.shade] ? state.shade : "weights";
  const kind = shade === "weights" ? "weights" : "memory"; // its colours
  const { levels } = panel.shades[shade];
  // the shade of a weight is the same everywhere, unless the reader wants to see small ones; norms and gates vary
  // little, so their scale is that of this matrix
  const most = levels.reduce((one, other) => Math.max(one, other), 1); // a call takes too few arguments for all cells
  const lowest = levels.reduce((one, other) => Math.min(one, other), 255);
  const ends = kind === "memory" ? [lowest, most] : [0, state.scale === "greatest" ? most : 255];
  const tone = (level) => Math.round((255 * (level - ends[0])) / Math.max(1, ends[1] - ends[0]));
  const columns = source.map((piece) => make("th", { scope: "col", children: [shown(piece)] }));
  const rows = pieces.map((piece) => make("th", { scope: "row", children: [shown(piece)] }));
  const cells = pieces.map((_, j) => source.map((_, i) => {
    const cell = make("td", { tabIndex: -1 });
    cell.style.backgroundColor = RAMPS[kind][tone(levels[j * source.length + i])];
    return cell;
  }));
  for (const [i, j, sure] of panel.links) cells[j][i].className = sure ? "sure" : "possible";
  const head = make("tr", { children: [make("td", { classes: "corner" }), ...columns] });
  const body = rows.map((row, j) => make("tr", { children: [row, ...cells[j]] }));
  const table = make("table", { children: [make("thead", { children: [head] }), make("tbody", { children: body })] });
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", `${SHADES[shade]}: target pieces by source pieces`);
  const bands = ["row", "column"].map((name) => make("div", { classes: `${name} band` }));
  const box = make("div", { classes: "matrix", children: [table, ...bands] });
  picture.append(box);
  fit(box, picture.clientWidth, columns, rows);
  if (cells.length) cells[0][0].tabIndex = 0;

  const [least, greatest] = ends.map((level) => number({ ...panel.shades[shade], levels: [level] }, 0));
  const scale = [`${CALLED[shade]} ${least}`, make("i"), greatest];
  bar.prepend(make("span", { classes: `scale ${kind}`, children: scale }));

  const place = (element) => {
    const cell = element.closest("tbody td");
    return cell && [cell.cellIndex - 1, cell.parentNode.sectionRowIndex];
  };
  table.addEventListener("mouseover", (event) => {
    const at = place(event.target);
    if (at) point(...at, panel);
  });
  table.addEventListener("mouseleave", () => point(null, null, panel));
  table.addEventListener("focusin", (event) => {
    const [i, j] = place(event.target);
    event.target.setAttribute("aria-label", point(i, j, panel));
  });
  table.addEventListener("focusout", () => point(null, null, panel));
  table.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const at = place(event.target);
    if (!move || !at) return;
    event.preventDefault();
    const next = (cells[at[1] + move[1]] || [])[at[0] + move[0]];
    if (next) {
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }
  });

  panel.box = box;
  panel.point = (i, j) => {
    for (const on of table.querySelectorAll("th.on")) on.classList.remove("on");
    if (columns[i]) columns[i].classList.add("on");
    if (rows[j]) rows[j].classList.add("on");
    for (const band of bands) band.style.display = "none";
    const last = cells.length - 1;
    if (cells[j]) frame(bands[0], cells[j][0], cells[j][source.length - 1]);
    if (columns[i]) frame(bands[1], cells[0][i], cells[last][i]);
  };
}

/** Lay a band around the cells from one to another. */
function frame(band, first, last) {
  const [left, top] = [first.offsetLeft, first.offsetTop];
  const [width, height] = [last.offsetLeft + last.offsetWidth - left, last.offsetTop + last.offsetHeight - top];
  for (const [name, length] of Object.entries({ left, top, width, height })) band.style[name] = `${length}px`;
  band.style.display = "block";
}

/** Choose the size of a cell, and the angle of the labels on top, so that nothing overlaps. */
function fit(box, width, columns, rows) {
  const widest = (heads) => Math.max(0, ...heads.map((head) => head.firstChild.offsetWidth));
  const set = (cell) => {
    const slanted = cell >= 21;
    box.style.setProperty("--cell", `${cell}px`);
    box.style.setProperty("--font", `${Math.max(9, Math.min(14, Math.floor(cell * 0.72)))}px`);
    box.style.setProperty("--turn", slanted ? "-48deg" : "-90deg");
    const every = Math.ceil(11 / cell); // labels that have room
    [columns, rows].forEach((heads) => heads.forEach((head, place) => head.classList.toggle("thin", place % every > 0)));
    const label = widest(columns);
    box.style.setProperty("--head", `${Math.ceil(label * (slanted ? 0.75 : 1) + 14)}px`);
    // the last of the slanted labels reach beyond the edge
    const leans = (head, place) => head.firstChild.offsetWidth * 0.67 - (columns.length - place - 0.5) * cell;
    const over = slanted ? Math.max(0, ...columns.map(leans)) : 0;
    box.style.paddingRight = `${Math.ceil(over) + 8}px`;
    return width - widest(rows) - over - 24;
  };
  // larger cells have larger labels, which leave less room: a few iterations converge, and never too wide
  let cell = 30;
  for (let round = 0; round < 3; round++) {
    const fits = Math.floor(set(cell) / columns.length);
    cell = Math.max(6, Math.min(30, round < 2 ? fits : Math.min(cell, fits)));
  }
  set(cell);
}
