// The controls: what the reader can choose.

const SPLITS = { val: "validation", test: "test" };
const VIEWS = { matrix: "Matrix", links: "Links" };
const TARGETS = { reference: "Reference", translation: "Translation" };
const SHADES = { weights: "Weights", memory: "Memory norm" };
for (const name of GATES) SHADES[gate(name)] = `${name[0].toUpperCase()}${name.slice(1)} gate`;
const CALLED = { weights: "weight", memory: "memory norm" };
for (const name of GATES) CALLED[gate(name)] = `${name} gate`;
const NO_MEMORY = "No memory";
const SCALES = { one: "1", greatest: "Greatest weight" };
let playing = null;

/** Radio buttons for state[name]. */
function choice(name, options) {
  const labels = Object.entries(options).map(([value, text]) => {
    const input = make("input", { type: "radio", name, value, checked: state[name] === value });
    input.addEventListener("change", () => change({ [name]: value }));
    return make("label", { children: [input, text] });
  });
  find(name).append(make("div", { classes: "options", children: labels }));
}

/** Take over what was chosen, and draw it. */
function change(changes) {
  if ("split" in changes) changes = { line: 0, place: Infinity, ...changes };
  if ("split" in changes || "line" in changes || "target" in changes) pointed = null;
  Object.assign(state, changes);
  state.place = Math.min(state.place, steps().length - 1);
  draw();
}

/** Go through the validations by itself, or stop. */
function play(on) {
  clearInterval(playing);
  const more = () => state.place < steps().length - 1;
  if (on && !more()) change({ place: 0 });
  const next = () => (more() ? change({ place: state.place + 1 }) : play(false));
  playing = on ? setInterval(next, 800) : null;
  find("play").textContent = on ? "❚❚" : "▶";
  find("play").setAttribute("aria-label", on ? "Pause" : "Play");
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
  const has = (shade) => looks.some((panel) => panel.shades && panel.shades[shade]);
  if (!has(state.shade)) state.shade = "weights";
  for (const input of document.querySelectorAll("input[type=radio]")) {
    input.checked = state[input.name] === input.value;
    if (input.name !== "shade" || input.value === "weights") continue;
    input.disabled = !has(input.value);
    if (input.value === "memory") {
      input.title = input.disabled ? "this attention carries no memory from step to step" : "";
      input.nextSibling.textContent = input.disabled ? NO_MEMORY : SHADES.memory;
    }
  }
  document.body.dataset.view = state.view;
  find("shade").hidden = state.view !== "matrix";
  find("scale").hidden = state.view !== "matrix" || state.shade !== "weights";
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
  find("notice").textContent = "These runs read different sentences here, shown side by side by their number.";
}
