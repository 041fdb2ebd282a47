// The page: a panel for each run, redrawn after every choice, and what is pointed at in all of them.

let panels = [];
let pointed = null; // {source, target, panel}: a piece of each side or null, and the panel that was pointed at

function draw() {
  const all = steps();
  drawSentences();
  const looks = RUNS.map((run) => look(run, all[state.place]));
  drawControls(looks, all);
  find("panels").style.setProperty("--runs", RUNS.length);
  find("panels").classList.toggle("several", RUNS.length > 1);
  const scrolled = panels.map((panel) => (panel.box ? panel.box.scrollLeft : 0));
  panels = looks.map(framed);
  find("panels").replaceChildren(...panels.map((panel) => panel.element));
  panels.forEach((panel, place) => {
    if (panel.sentence) (state.view === "matrix" ? drawMatrix : drawLinks)(panel);
    if (panel.box) panel.box.scrollLeft = scrolled[place] || 0;
  });
  if (pointed) point(pointed.source, pointed.target, panels[pointed.panel.place]);
}

/** A panel with all but its picture. */
function framed(panel, place) {
  const { run, snapshot, sentence } = panel;
  const title = [make("h3", { text: run.name }), make("span", { classes: "facts", text: facts(snapshot) })];
  const head = make("header", { children: title });
  const texts = make("dl", { classes: "texts" });
  const [bar, picture] = ["bar", "picture"].map((classes) => make("div", { classes }));
  const element = make("section", { classes: "panel", children: [head, texts, bar, picture] });
  element.setAttribute("aria-label", run.name);
  if (!sentence) {
    const why = snapshot ? "This run has no such sentence." : "This run has no record of this.";
    texts.append(make("dd", { text: why }));
    return { ...panel, place, element, point: () => {} };
  }
  const targets = Object.keys(TARGETS).map((name) => [name, sentence.targets[name].text]);
  for (const [name, text] of [["source", sentence.text], ...targets]) {
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
  const figures = [when];
  if (bleu != null) figures.push(`BLEU ${bleu.toFixed(1)}`);
  if (loss != null) figures.push(`loss ${loss.toFixed(2)}`);
  return figures.join(" · ");
}

/** Show a pair of pieces, or one and all it has to do with, in each panel that reads the same; returns what it says. */
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
    const advice = { matrix: "Point at a cell, or walk with the arrow keys.", links: "Point at a word." };
    readout.textContent = advice[state.view];
    return readout.textContent;
  }
  const piece = (text) => Object.assign(shown(text, "b"), { className: "piece" });
  if (i === null || j === null) {
    readout.replaceChildren(i === null ? "target " : "source ", piece(i === null ? pieces[j] : source[i]));
    return readout.textContent;
  }
  const place = j * source.length + i;
  const parts = [piece(source[i]), " → ", piece(pieces[j])];
  for (const [shade, values] of Object.entries(panel.shades)) {
    // a second line would move what is pointed at
    if (GATES.map(gate).includes(shade) && shade !== state.shade) continue;
    parts.push(` · ${CALLED[shade]} `, make("b", { text: number(values, place) }));
  }
  const link = panel.links.find(([from, to]) => from === i && to === j);
  if (link) parts.push(` · ${link[2] ? "known link" : "possible link"}`);
  readout.replaceChildren(...parts);
  return readout.textContent;
}

function start() {
  document.title = `Attention: ${RUNS.map((run) => run.name).join(", ")}`;
  if (!splits.length) return;
  choice("split", Object.fromEntries(splits.map((split) => [split, SPLITS[split] || split])));
  choice("view", VIEWS);
  choice("target", TARGETS);
  choice("shade", SHADES);
  choice("scale", SCALES);
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
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (readRamps(), draw()));
  change({ split: splits[0] });
}

start();
