// The loss explorer: drag points, move sliders, and see the line and the weights follow.
// The mathematics is in fit.js; here are the drawing and the controls.

"use strict";

(() => {
  const root = document.getElementById("explorer");
  const SVG = "http://www.w3.org/2000/svg";
  const X = [0, 10], Y = [-2, 12];  // what the plot shows
  const SIZE = { width: 640, height: 440, left: 40, right: 10, top: 10, bottom: 32 };

  const SCENES = {
    clean: { title: "clean", points: clean() },
    outliers: { title: "outliers on one side", points: spoilt([3, 7, 11, 14], i => [0, 4 + 0.4 * (i % 3)]) },
    leverage: { title: "leverage points", points: spoilt([14, 15], () => [3, -6]) },
    cluster: { title: "a cluster", points: spoilt([11, 12, 13, 14, 15], i => [2.5, -5 - 0.2 * (i % 3)]) },
  };
  const FIRST = { loss: "KMPE", p: 2, sigma: 1, scene: "outliers" };

  // A line with fixed wiggles: no random numbers, so that every visit starts alike.
  function clean() {
    const wiggles = [0.3, -0.5, 0.1, 0.6, -0.2, -0.4, 0.5, 0.0, -0.6, 0.2, 0.4, -0.3, 0.1, -0.1, 0.3, -0.2];
    return wiggles.map((wiggle, i) => {
      const x = 0.6 + 0.4 * i;
      return [round(x), round(1 + 0.8 * x + wiggle)];
    });
  }

  function spoilt(which, shift) {
    return clean().map(([x, y], i) => {
      if (!which.includes(i)) return [x, y];
      const [dx, dy] = shift(i);
      return [round(x + dx), round(y + dy)];
    });
  }

  function round(value) {
    return Math.round(value * 100) / 100;
  }

  function make(name, attributes = {}, parent = null, text = "") {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }

  const find = name => root.querySelector(`[data-part="${name}"]`);
  const state = { loss: FIRST.loss, p: FIRST.p, sigma: FIRST.sigma, points: [] };

  // --- the plot of the points ---------------------------------------------------------------

  const plot = find("plot");
  plot.setAttribute("viewBox", `0 0 ${SIZE.width} ${SIZE.height}`);
  const toX = x => SIZE.left + (x - X[0]) / (X[1] - X[0]) * (SIZE.width - SIZE.left - SIZE.right);
  const toY = y => SIZE.height - SIZE.bottom
    - (y - Y[0]) / (Y[1] - Y[0]) * (SIZE.height - SIZE.top - SIZE.bottom);

  for (let x = X[0]; x <= X[1]; x += 2) {
    make("line", { x1: toX(x), x2: toX(x), y1: toY(Y[0]), y2: toY(Y[1]), class: "grid" }, plot);
    make("text", { x: toX(x), y: SIZE.height - 10, class: "tick", "text-anchor": "middle" }, plot, `${x}`);
  }
  for (let y = Y[0]; y <= Y[1]; y += 2) {
    make("line", { x1: toX(X[0]), x2: toX(X[1]), y1: toY(y), y2: toY(y), class: "grid" }, plot);
    make("text", { x: SIZE.left - 8, y: toY(y) + 4, class: "tick", "text-anchor": "end" }, plot, `${y}`);
  }
  const clip = make("clipPath", { id: "explorer-clip" }, plot);
  make("rect", { x: toX(X[0]), y: toY(Y[1]), width: toX(X[1]) - toX(X[0]), height: toY(Y[0]) - toY(Y[1]) }, clip);
  const lines = make("g", { "clip-path": "url(#explorer-clip)" }, plot);
  const sticks = make("g", {}, lines);
  const squaresLine = make("line", { class: "squares" }, lines);
  const fitLineElement = make("line", { class: "fit" }, lines);
  const dots = make("g", {}, plot);

  function moveLine(element, [a, b]) {
    element.setAttribute("x1", toX(X[0]));
    element.setAttribute("x2", toX(X[1]));
    element.setAttribute("y1", toY(a + b * X[0]));
    element.setAttribute("y2", toY(a + b * X[1]));
  }

  // --- points: by pointer and by keyboard ---------------------------------------------------

  const clamp = (value, [low, high]) => Math.min(high, Math.max(low, value));

  function place(i, x, y) {
    state.points[i] = [clamp(round(x), X), clamp(round(y), Y)];
    update();
  }

  function pointerPosition(event) {
    const box = plot.getBoundingClientRect();
    const px = (event.clientX - box.left) * SIZE.width / box.width;
    const py = (event.clientY - box.top) * SIZE.height / box.height;
    return [
      X[0] + (px - SIZE.left) / (SIZE.width - SIZE.left - SIZE.right) * (X[1] - X[0]),
      Y[0] + (SIZE.height - SIZE.bottom - py) / (SIZE.height - SIZE.top - SIZE.bottom) * (Y[1] - Y[0]),
    ];
  }

  function addDot(i) {
    const group = make("g", { class: "point", tabindex: "0", role: "slider" }, dots);
    make("circle", { r: 16, class: "grip" }, group);  // large enough for a finger
    make("circle", { r: 7, class: "dot" }, group);
    group.addEventListener("pointerdown", event => {
      event.preventDefault();
      group.focus();
      group.setPointerCapture(event.pointerId);
      group.dataset.dragged = "true";
    });
    group.addEventListener("pointermove", event => {
      if (group.dataset.dragged === "true") place(i, ...pointerPosition(event));
    });
    for (const end of ["pointerup", "pointercancel"]) {
      group.addEventListener(end, () => { group.dataset.dragged = ""; });
    }
    group.addEventListener("keydown", event => {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      if (!(event.key in moves)) return;
      event.preventDefault();
      const size = event.shiftKey ? 1 : 0.1;
      const [dx, dy] = moves[event.key];
      place(i, state.points[i][0] + size * dx, state.points[i][1] + size * dy);
    });
  }

  function setPoints(points) {
    state.points = points.map(([x, y]) => [x, y]);
    dots.replaceChildren();
    points.forEach((_, i) => addDot(i));
  }

  // --- the curves of the loss ---------------------------------------------------------------

  const CURVES = {
    rho: { title: "cost ½ ρ(r²)", of: (loss, r) => loss.rho(r * r) / 2 },
    psi: { title: "influence ψ(r)", of: (loss, r) => r === 0 ? 0 : r * loss.weight(r * r) },
    weight: { title: "weight ρ′(r²)", of: (loss, r) => loss.weight(Math.max(r * r, 1e-6)) },
  };
  const SMALL = { width: 260, height: 130, left: 8, right: 8, top: 22, bottom: 18 };
  const REACH = 6;  // residuals from -REACH to REACH

  function drawCurve(name, loss, r) {
    const svg = find(name);
    svg.setAttribute("viewBox", `0 0 ${SMALL.width} ${SMALL.height}`);
    svg.replaceChildren();
    const steps = 240;
    const grid = Array.from({ length: steps + 1 }, (_, i) => REACH * (2 * i / steps - 1));
    const values = grid.map(x => CURVES[name].of(loss, x));
    const size = Math.max(...values.map(Math.abs)) || 1;
    // Weights without bound at 0 would flatten all the rest.
    const top = name === "weight" ? Math.min(size, 4 * CURVES.weight.of(loss, 0.5)) : Math.min(size, 12);
    const low = name === "psi" ? -top : 0;
    const x = v => SMALL.left + (v + REACH) / (2 * REACH) * (SMALL.width - SMALL.left - SMALL.right);
    const y = v => SMALL.height - SMALL.bottom
      - (clamp(v, [low, top]) - low) / (top - low) * (SMALL.height - SMALL.top - SMALL.bottom);
    make("text", { x: SMALL.left, y: 14, class: "title" }, svg, CURVES[name].title);
    make("line", { x1: x(-REACH), x2: x(REACH), y1: y(0), y2: y(0), class: "axis" }, svg);
    make("line", { x1: x(0), x2: x(0), y1: y(low), y2: y(top), class: "axis" }, svg);
    for (const v of [-4, -2, 0, 2, 4]) {
      make("text", { x: x(v), y: SMALL.height - 4, class: "tick", "text-anchor": "middle" }, svg, `${v}`);
    }
    const path = grid.map((v, i) => `${i ? "L" : "M"}${x(v).toFixed(1)} ${y(values[i]).toFixed(1)}`);
    make("path", { d: path.join(""), class: "curve" }, svg);
    for (const v of r) {
      const inside = clamp(v, [-REACH, REACH]);
      make("circle", { cx: x(inside), cy: y(CURVES[name].of(loss, inside)), r: 3, class: "mark" }, svg);
    }
  }

  // --- everything that follows from the state -----------------------------------------------

  const fixed = (value, digits = 3) => value.toFixed(digits).replace("-", "−");

  function update() {
    const { points } = state;
    const fit = fitLine(points, state);
    const [a, b] = fit.theta;
    const loss = lossOf(state);
    const r = points.map(([x, y]) => y - a - b * x);
    const largest = Math.max(...fit.weights) || 1;

    moveLine(fitLineElement, fit.theta);
    moveLine(squaresLine, leastSquares(points));
    sticks.replaceChildren();
    points.forEach(([x, y], i) => {
      make("line", { x1: toX(x), x2: toX(x), y1: toY(y), y2: toY(a + b * x), class: "stick" }, sticks);
      const share = fit.weights[i] / largest;
      const group = dots.children[i];
      group.setAttribute("transform", `translate(${toX(x)} ${toY(y)})`);
      group.style.setProperty("--weight", share.toFixed(4));
      group.setAttribute("aria-label", `Point ${i + 1} of ${points.length}`);
      group.setAttribute("aria-valuenow", y);
      group.setAttribute("aria-valuetext", `x ${fixed(x, 2)}, y ${fixed(y, 2)}, weight ${fixed(share, 2)}`);
    });
    for (const name of Object.keys(CURVES)) drawCurve(name, loss, r);

    const { hasP, hasSigma } = LOSSES[state.loss];
    for (const [name, used] of [["p", hasP], ["sigma", hasSigma]]) {
      find(name).disabled = !used;
      find(`${name}-label`).classList.toggle("unused", !used);
      find(name).value = state[name];
      find(`${name}-value`).textContent = fixed(state[name], name === "p" ? 1 : 2);
    }
    find("loss").value = state.loss;
    const line = find("line");
    line.dataset.intercept = a;
    line.dataset.slope = b;
    line.dataset.weights = JSON.stringify(fit.weights);
    line.textContent = `y = ${fixed(a)} ${b < 0 ? "−" : "+"} ${fixed(Math.abs(b))} x`;
    const ignored = fit.weights.filter(w => w < 0.05 * largest).length;
    find("message").textContent = fit.message
      || `${ignored} of ${points.length} points have less than 5% of the largest weight.`;
    const parameters = [];
    if (hasP) parameters.push(`p=${state.p}`);
    if (hasSigma) parameters.push(`sigma=${state.sigma}`);
    find("python").textContent = `RobustLinearRegression(${state.loss}(${parameters.join(", ")})).fit(X, y)`;
  }

  // --- the controls -------------------------------------------------------------------------

  for (const [name, { title }] of Object.entries(LOSSES)) {
    find("loss").append(new Option(title, name));
  }
  find("loss").addEventListener("change", event => { state.loss = event.target.value; update(); });
  for (const name of ["p", "sigma"]) {
    find(name).addEventListener("input", event => { state[name] = Number(event.target.value); update(); });
  }
  for (const [name, { title, points }] of Object.entries(SCENES)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title;
    button.addEventListener("click", () => { setPoints(points); update(); });
    find("scenes").append(button);
    if (name === FIRST.scene) setPoints(points);
  }
  update();

  // For tests, and for a curious console.
  window.explorer = {
    get: () => structuredClone(state),
    set: wanted => {
      Object.assign(state, { loss: wanted.loss, p: wanted.p, sigma: wanted.sigma });
      setPoints(wanted.points);
      update();
    },
  };
})();
