"use strict";
// Letters: S source pieces, T target pieces. Text of users enters the page by textContent alone.
(() => {
  const RUNS = JSON.parse(document.getElementById("records").textContent);
  const SPLITS = { val: "validation", test: "test" };
  const VIEWS = { matrix: "Matrix", links: "Links" };
  const TARGETS = { reference: "Reference", translation: "Translation" };
  const SHADES = { weights: "Weights", memory: "Memory norm" };
  const SVG = "http://www.w3.org/2000/svg";
  const splits = [...new Set(RUNS.flatMap((run) => run.snapshots.map((snapshot) => snapshot.split)))];
  const state = {
    split: splits[0], line: 0, place: 0, view: "matrix", target: "reference", shade: "weights", least: 0.1, known: true,
  };
  let panels = [];
  let pointed = null; // {source, target, panel}: a piece of each side or null, and the panel that was pointed at
  let playing = null;

  const find = (id) => document.getElementById(id);

  /** An element with classes, text and children. */
  function make(tag, { classes = "", text = null, children = [], ...properties } = {}) {
    const element = Object.assign(document.createElement(tag), properties);
    if (classes) element.className = classes;
    if (text !== null) element.textContent = text;
    element.append(...children);
    return element;
  }

  /** A piece as a reader sees it: the mark of a word's beginning is pale; its script says which way it runs. */
  function shown(piece, tag = "span") {
    const marks = /^\u2581*/.exec(piece)[0];
    const children = marks ? [make("span", { classes: "mark", text: marks }), piece.slice(marks.length)] : [piece];
    return make(tag, { dir: "auto", children });
  }

  // What the records say

  /** The bytes of a stored matrix, row by row, and what 255 stands for; null of null. */
  function matrix(stored) {
    if (!stored) return null;
    const text = atob(stored.bytes);
    const levels = new Uint8Array(text.length);
    for (let place = 0; place < text.length; place++) levels[place] = text.charCodeAt(place);
    return { levels, largest: stored.largest };
  }

  /** A number as precise as a byte is. */
  function number(matrix, place) {
    const value = (matrix.levels[place] * matrix.largest) / 255;
    return value.toFixed(matrix.largest >= 100 ? 0 : matrix.largest >= 10 ? 1 : 2);
  }

  const snapshots = (run) => run.snapshots.filter((snapshot) => snapshot.split === state.split);

  /** All runs' steps of the split, rising. */
  function steps() {
    return [...new Set(RUNS.flatMap((run) => snapshots(run).map((snapshot) => snapshot.step)))].sort((a, b) => a - b);
  }

  /** The snapshot of a run that is nearest to a step; of two as near the earlier. */
  function nearest(run, step) {
    const far = (snapshot) => Math.abs(snapshot.step - step);
    return snapshots(run).reduce((best, next) => (best && far(best) <= far(next) ? best : next), null);
  }

  /** The sentences to choose from: those of the run that has most. */
  function sentences() {
    const lists = RUNS.map((run) => nearest(run, Infinity) || { sentences: [] }).map((snapshot) => snapshot.sentences);
    return lists.reduce((longest, next) => (next.length > longest.length ? next : longest), []);
  }

  /** What a panel shows of a run: of the sentence and target chosen, at the step nearest to the one chosen. */
  function look(run, step) {
    const snapshot = nearest(run, step);
    const sentence = snapshot && snapshot.sentences[state.line];
    if (!sentence) return { run, snapshot, sentence: null };
    const target = sentence.targets[state.target];
    return {
      run, snapshot, sentence, target, source: sentence.source, pieces: target.pieces,
      weights: matrix(target.weights), memory: matrix(target.memory), links: target.links || [],
    };
  }

  // Controls

  /** Radio buttons for state[name]. */
  function choice(name, options) {
    const labels = Object.entries(options).map(([value, text]) => {
      const input = make("input", { type: "radio", name, value, checked: state[name] === value });
      input.addEventListener("change", () => change({ [name]: value }));
      return make("label", { children: [input, text] });
    });
    find(name).append(make("div", { classes: "options", children: labels }));
  }

  function change(changes) {
    if ("split" in changes) changes = { line: 0, place: Infinity, ...changes };
    if ("split" in changes || "line" in changes || "target" in changes) pointed = null;
    Object.assign(state, changes);
    state.place = Math.min(state.place, steps().length - 1);
    draw();
  }

  function play(on) {
    clearInterval(playing);
    const last = steps().length - 1;
    if (on && state.place >= last) change({ place: 0 });
    playing = on ? setInterval(() => (state.place < last ? change({ place: state.place + 1 }) : play(false)), 800) : null;
    find("play").textContent = on ? "❚❚" : "▶";
    find("play").setAttribute("aria-label", on ? "Pause" : "Play");
  }

  function start() {
    document.title = `Attention: ${RUNS.map((run) => run.name).join(", ")}`;
    if (!splits.length) return;
    choice("split", Object.fromEntries(splits.map((split) => [split, SPLITS[split] || split])));
    choice("view", VIEWS);
    choice("target", TARGETS);
    choice("shade", SHADES);
    find("least").value = state.least;
    find("least").addEventListener("input", (event) => change({ least: Number(event.target.value) }));
    find("known").checked = state.known;
    find("known").addEventListener("change", (event) => change({ known: event.target.checked }));
    find("step").addEventListener("input", (event) => (play(false), change({ place: Number(event.target.value) })));
    find("play").addEventListener("click", () => play(playing === null));
    find("controls").addEventListener("submit", (event) => event.preventDefault());
    find("sentences").addEventListener("click", (event) => {
      const option = event.target.closest("li");
      if (option) change({ line: [...option.parentNode.children].indexOf(option) });
    });
    find("sentences").addEventListener("keydown", (event) => {
      const last = sentences().length - 1;
      const to = { ArrowDown: state.line + 1, ArrowUp: state.line - 1, Home: 0, End: last }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      change({ line: Math.max(0, Math.min(last, to)) });
    });
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (width !== window.innerWidth) draw();
      width = window.innerWidth;
    });
    change({ split: splits[0] });
  }

  // Drawing

  function draw() {
    const all = steps();
    drawSentences();
    const looks = RUNS.map((run) => look(run, all[state.place]));
    drawControls(looks, all);
    find("panels").style.setProperty("--runs", RUNS.length);
    const scrolled = panels.map((panel) => (panel.box ? panel.box.scrollLeft : 0));
    panels = looks.map(framed);
    find("panels").replaceChildren(...panels.map((panel) => panel.element));
    panels.forEach((panel, place) => {
      if (panel.sentence) (state.view === "matrix" ? drawMatrix : drawLinks)(panel);
      if (panel.box) panel.box.scrollLeft = scrolled[place] || 0;
    });
    if (pointed) point(pointed.source, pointed.target, panels[pointed.panel.place]);
  }

  function drawSentences() {
    const list = find("sentences");
    const options = sentences().map((sentence, place) => {
      const text = make("span", { dir: "auto", text: sentence.text });
      const option = make("li", { id: `sentence-${place}`, children: [make("span", { text: sentence.line }), text] });
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", place === state.line);
      return option;
    });
    const top = list.parentNode.scrollTop;
    list.replaceChildren(...options);
    list.parentNode.scrollTop = top;
    list.setAttribute("aria-activedescendant", `sentence-${state.line}`);
    if (document.activeElement === list) options[state.line].scrollIntoView({ block: "nearest" });
  }

  function drawControls(looks, all) {
    const remembers = looks.some((panel) => panel.memory);
    if (!remembers) state.shade = "weights";
    for (const input of document.querySelectorAll("input[type=radio]")) {
      input.checked = state[input.name] === input.value;
      if (input.value === "memory") {
        input.disabled = !remembers;
        input.title = remembers ? "" : "this attention carries no memory from step to step";
      }
    }
    document.body.dataset.view = state.view;
    find("shade").hidden = state.view !== "matrix";
    find("least-field").hidden = state.view !== "links";
    find("least-shown").textContent = state.least.toFixed(2);
    find("known-field").hidden = !looks.some((panel) => panel.links && panel.links.length);
    find("panels").classList.toggle("unknown", !state.known);

    const slider = find("step");
    slider.max = all.length - 1;
    slider.value = state.place;
    slider.disabled = find("play").disabled = all.length < 2;
    const of = all.length > 1 ? ` (${state.place + 1} of ${all.length})` : "";
    find("step-shown").textContent = state.split === "test" ? "the best checkpoint" : `step ${all[state.place]}${of}`;
    slider.setAttribute("aria-valuetext", find("step-shown").textContent);

    const texts = new Set(looks.filter((panel) => panel.sentence).map((panel) => panel.sentence.text));
    find("notice").hidden = texts.size < 2;
    find("notice").textContent = "These runs read different sentences here, which stand side by side by their number.";
  }

  /** A panel with all but its picture. */
  function framed(panel, place) {
    const { run, snapshot, sentence } = panel;
    const head = make("header", { children: [make("h3", { text: run.name }), make("span", { classes: "facts", text: facts(snapshot) })] });
    const parts = [head, make("dl", { classes: "texts" }), make("div", { classes: "bar" }), make("div", { classes: "picture" })];
    const element = make("section", { classes: "panel", children: parts });
    element.setAttribute("aria-label", run.name);
    const [, texts, bar, picture] = parts;
    if (!sentence) {
      texts.append(make("dd", { text: snapshot ? "This run has no such sentence." : "This run has no record of this." }));
      return { ...panel, place, element, point: () => {} };
    }
    const lines = { source: sentence.text, ...Object.fromEntries(Object.keys(TARGETS).map((name) => [name, sentence.targets[name].text])) };
    for (const [name, text] of Object.entries(lines)) {
      const classes = name === "source" || name === state.target ? "seen" : "";
      texts.append(make("dt", { classes, text: name }), make("dd", { dir: "auto", text }));
    }
    const readout = make("span", { classes: "readout" });
    readout.setAttribute("role", "status");
    bar.append(readout);
    const made = { ...panel, place, element, bar, readout, picture, point: () => {} };
    say(made, null, null);
    return made;
  }

  function facts(snapshot) {
    if (!snapshot) return "";
    const { split, step, epoch, metrics } = snapshot;
    const when = split === "test" ? "best checkpoint" : `step ${step}${epoch ? `, epoch ${epoch}` : ""}`;
    const { bleu, loss } = metrics || {};
    const figures = [bleu === undefined ? "" : `BLEU ${bleu.toFixed(1)}`, loss === undefined ? "" : `loss ${loss.toFixed(2)}`];
    return [when, ...figures].filter(Boolean).join(" · ");
  }

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
  const RAMPS = { weights: ramp("weights"), memory: ramp("memory") };

  function drawMatrix(panel) {
    const { source, pieces, bar, picture } = panel;
    const shade = state.shade === "memory" && panel.memory ? "memory" : "weights";
    const { levels } = panel[shade];
    // a weight's shade is the same everywhere; norms are alike, so that theirs go from the least to the greatest here
    const ends = shade === "weights" ? [0, 255] : [Math.min(...levels), Math.max(...levels, 1)];
    const tone = (level) => Math.round((255 * (level - ends[0])) / Math.max(1, ends[1] - ends[0]));
    const columns = source.map((piece) => make("th", { scope: "col", children: [shown(piece)] }));
    const rows = pieces.map((piece) => make("th", { scope: "row", children: [shown(piece)] }));
    const cells = pieces.map((_, j) => source.map((_, i) => {
      const cell = make("td", { tabIndex: -1 });
      cell.style.backgroundColor = RAMPS[shade][tone(levels[j * source.length + i])];
      return cell;
    }));
    for (const [i, j, sure] of panel.links) if (cells[j] && cells[j][i]) cells[j][i].className = sure ? "sure" : "possible";
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

    const [least, greatest] = shade === "weights" ? ["0", "1"] : ends.map((level) => number({ ...panel.memory, levels: [level] }, 0));
    const scale = [`${shade === "weights" ? "weight" : "memory norm"} ${least}`, make("i"), greatest];
    bar.prepend(make("span", { classes: `scale ${shade}`, children: scale }));

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
      const last = cells[cells.length - 1];
      const put = (band, x, y, right, bottom) => {
        Object.assign(band.style, { display: "block", left: `${x}px`, top: `${y}px`, width: `${right - x}px`, height: `${bottom - y}px` });
      };
      bands[0].style.display = bands[1].style.display = "none";
      if (!last || !last.length) return;
      const [first, end] = [cells[0][0], last[last.length - 1]];
      if (cells[j]) put(bands[0], first.offsetLeft, cells[j][0].offsetTop, end.offsetLeft + end.offsetWidth, cells[j][0].offsetTop + end.offsetHeight);
      if (columns[i]) put(bands[1], last[i].offsetLeft, first.offsetTop, last[i].offsetLeft + end.offsetWidth, end.offsetTop + end.offsetHeight);
    };
  }

  /** Choose the size of a cell, and how labels on top stand, so that nothing overlaps. */
  function fit(box, width, columns, rows) {
    const widest = (heads) => Math.max(0, ...heads.map((head) => head.firstChild.offsetWidth));
    const set = (cell) => {
      const slanted = cell >= 21;
      box.style.setProperty("--cell", `${cell}px`);
      box.style.setProperty("--font", `${Math.max(9, Math.min(14, Math.floor(cell * 0.72)))}px`);
      box.style.setProperty("--turn", slanted ? "-48deg" : "-90deg");
      const label = widest(columns);
      box.style.setProperty("--head", `${Math.ceil(label * (slanted ? 0.75 : 1) + 14)}px`);
      // the last labels lean over the edge
      const over = slanted ? Math.max(0, ...columns.slice(-12).map((head, place, some) => head.firstChild.offsetWidth * 0.67 - (some.length - place - 0.5) * cell)) : 0;
      box.style.paddingRight = `${Math.ceil(over) + 8}px`;
      return width - widest(rows) - over - 24;
    };
    // larger cells have larger labels, which leave less room: a few rounds settle it, never too wide
    let cell = 30;
    for (let round = 0; round < 3; round++) {
      const fits = Math.floor(set(cell) / columns.length);
      cell = Math.max(12, Math.min(30, round < 2 ? fits : Math.min(cell, fits)));
    }
    set(cell);
  }

  function drawLinks(panel) {
    const { source, pieces, weights, picture, bar } = panel;
    const height = 25 * Math.max(source.length, pieces.length, 1);
    const word = (piece) => {
      const item = make("li", { tabIndex: 0, children: [make("span", { classes: "share" }), shown(piece)] });
      return item;
    };
    const sides = { source: source.map(word), target: pieces.map(word) };
    const lists = [make("ol", { classes: "side from", children: sides.source }), make("ol", { classes: "side to", children: sides.target })];
    lists[0].setAttribute("aria-label", "source");
    lists[1].setAttribute("aria-label", "target");
    const drawing = document.createElementNS(SVG, "svg");
    drawing.setAttribute("viewBox", `0 0 100 ${height}`);
    drawing.setAttribute("preserveAspectRatio", "none");
    drawing.setAttribute("aria-hidden", "true");
    const paths = [];
    const add = (i, j, classes, weight) => {
      const [from, to] = [((i + 0.5) * height) / source.length, ((j + 0.5) * height) / pieces.length];
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", `M0,${from} C45,${from} 55,${to} 100,${to}`);
      path.setAttribute("class", classes);
      path.dataset.source = i;
      path.dataset.target = j;
      if (weight !== null) {
        path.style.strokeWidth = `${0.6 + 3.4 * weight}px`;
        path.style.strokeOpacity = 0.12 + 0.88 * weight;
      }
      paths.push(path);
      drawing.append(path);
    };
    for (const [i, j, sure] of panel.links) if (i < source.length && j < pieces.length) add(i, j, sure ? "known" : "known possible", null);
    let drawn = 0;
    weights.levels.forEach((level, place) => {
      if (level / 255 < state.least || level === 0) return;
      add(place % source.length, Math.floor(place / source.length), "weight", level / 255);
      drawn++;
    });
    const box = make("div", { classes: "links", children: [lists[0], drawing, lists[1]] });
    box.style.setProperty("--height", `${height}px`);
    picture.append(box);
    bar.prepend(make("span", { classes: "scale count", text: `${drawn} of ${weights.levels.length} links` }));

    const place = (event) => {
      const item = event.target.closest("li");
      return item && [sides.source.indexOf(item), sides.target.indexOf(item)].map((number) => (number < 0 ? null : number));
    };
    for (const kind of ["mouseover", "focusin"]) {
      box.addEventListener(kind, (event) => {
        const at = place(event);
        point(...(at || [null, null]), panel);
      });
    }
    for (const kind of ["mouseleave", "focusout"]) box.addEventListener(kind, () => point(null, null, panel));

    panel.point = (i, j) => {
      const free = i === null && j === null;
      const its = (path) => (i === null || Number(path.dataset.source) === i) && (j === null || Number(path.dataset.target) === j);
      for (const item of [...sides.source, ...sides.target]) {
        item.className = free ? "" : "dim";
        item.firstChild.textContent = "";
      }
      if (i !== null) sides.source[i].className = "on";
      if (j !== null) sides.target[j].className = "on";
      for (const path of paths) {
        path.classList.toggle("off", !free && !its(path));
        if (free || !its(path) || path.classList.contains("known")) continue;
        const { source: from, target: to } = path.dataset;
        const share = number(weights, Number(to) * source.length + Number(from));
        sides.source[from].className = sides.target[to].className = "on";
        (j === null ? sides.target[to] : sides.source[from]).firstChild.textContent = share;
      }
    };
  }

  // Pointing

  /** Show a pair of pieces, or all that has to do with one, in every panel that reads the same; returns what it says. */
  function point(i, j, origin) {
    pointed = i === null && j === null ? null : { source: i, target: j, panel: origin };
    const same = (one, two) => one.length === two.length && one.every((piece, place) => piece === two[place]);
    let said = "";
    for (const panel of panels) {
      if (!panel.sentence || !origin.sentence) continue;
      const source = i !== null && same(panel.source, origin.source) ? i : null;
      const target = j !== null && same(panel.pieces, origin.pieces) ? j : null;
      panel.point(source, target);
      const text = say(panel, source, target);
      if (panel === origin) said = text;
    }
    return said;
  }

  function say(panel, i, j) {
    const { readout, source, pieces } = panel;
    readout.classList.toggle("idle", i === null && j === null);
    if (i === null && j === null) {
      readout.textContent = state.view === "matrix" ? "Point at a cell, or walk with the arrow keys." : "Point at a word.";
      return readout.textContent;
    }
    const piece = (text) => Object.assign(shown(text, "b"), { className: "piece" });
    if (i === null || j === null) {
      readout.replaceChildren(i === null ? "target " : "source ", piece(i === null ? pieces[j] : source[i]));
      return readout.textContent;
    }
    const place = j * source.length + i;
    const parts = [piece(source[i]), " → ", piece(pieces[j]), " · weight ", make("b", { classes: "weight", text: number(panel.weights, place) })];
    if (panel.memory) parts.push(" · memory norm ", make("b", { classes: "norm", text: number(panel.memory, place) }));
    const link = panel.links.find(([from, to]) => from === i && to === j);
    if (link) parts.push(` · ${link[2] ? "known link" : "possible link"}`);
    readout.replaceChildren(...parts);
    return readout.textContent;
  }

  start();
})();
