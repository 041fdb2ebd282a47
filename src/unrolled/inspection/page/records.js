// What the records say about the chosen run, split, sentence, target and step.

const RUNS = JSON.parse(document.getElementById("records").textContent);
const splits = [...new Set(RUNS.flatMap((run) => run.snapshots.map((snapshot) => snapshot.split)))];
const state = {
  split: splits[0], line: 0, place: 0, view: "matrix", target: "reference", shade: "weights", scale: "one", least: 0.1, known: true,
};

/** The bytes of a stored matrix, row by row, and the value of 255; null for null. */
function matrix(stored) {
  if (!stored) return null;
  const text = atob(stored.bytes);
  const levels = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place++) levels[place] = text.charCodeAt(place);
  return { levels, largest: stored.largest };
}

/** What the gate of that name is called among the shades, which are weights, memory and gates. */
const gate = (name) => `gate-${name}`;

/** The names of all gates of any run. */
const GATES = [...new Set(RUNS.flatMap((run) => run.snapshots).flatMap((snapshot) => snapshot.sentences)
  .flatMap((sentence) => Object.values(sentence.targets)).flatMap((target) => Object.keys(target.gates || {})))];

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
  const shades = { weights: matrix(target.weights) };
  if (target.memory) shades.memory = matrix(target.memory);
  for (const [name, stored] of Object.entries(target.gates || {})) shades[gate(name)] = matrix(stored);
  return {
    run, snapshot, sentence, target, source: sentence.source, pieces: target.pieces, shades, weights: shades.weights,
    links: target.links || [],
  };
}
