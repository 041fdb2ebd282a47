// A panel's two sentences, and lines between their pieces.

function drawLinks(panel) {
  const { source, pieces, weights, picture, bar } = panel;
  const height = 25 * Math.max(source.length, pieces.length, 1);
  const word = (piece) => make("li", { tabIndex: 0, children: [make("span", { classes: "share" }), shown(piece)] });
  const sides = { source: source.map(word), target: pieces.map(word) };
  const lists = Object.entries({ from: "source", to: "target" }).map(([classes, side]) => {
    const list = make("ol", { classes: `side ${classes}`, children: sides[side] });
    list.setAttribute("aria-label", side);
    return list;
  });
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
  for (const [i, j, sure] of panel.links) add(i, j, sure ? "known" : "known possible", null);
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
    const number = (side) => (side.includes(item) ? side.indexOf(item) : null);
    return item && [number(sides.source), number(sides.target)];
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
    const is = (place, chosen) => chosen === null || Number(place) === chosen;
    const its = (path) => is(path.dataset.source, i) && is(path.dataset.target, j);
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
