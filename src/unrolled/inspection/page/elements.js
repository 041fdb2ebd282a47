// Elements of the page. Users' text enters it only by textContent.

const SVG = "http://www.w3.org/2000/svg";

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
