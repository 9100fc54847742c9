// The mathematics of the loss explorer: losses, and the line that minimises ½ Σ ρ(r²).
//
// As kmpe.RobustLinearRegression does it for a given loss: an S-estimate and the MM-estimate after
// it are the start; then reweighted steps, at last Newton's, until the cost no longer falls.
// kmpe draws pairs of rows for the S-estimate; a page has few points, and takes them all.

"use strict";

const gap = t => -Math.expm1(-t / 2);

// Each loss has ρ, ρ' and ρ'' of t = s / σ² at unit scale, as in kmpe.losses.
const LOSSES = {
  KMPE: {
    title: "KMPE", hasP: true, hasSigma: true,
    concave: p => p <= 2, singular: p => p < 2,
    rho: (t, p) => 4 / p * gap(t) ** (p / 2),
    weight: (t, p) => gap(t) ** (p / 2 - 1) * Math.exp(-t / 2),
    curvature: (t, p) => p === 2 ? -0.5 * Math.exp(-t / 2)
      : 0.5 * Math.exp(-t / 2) * gap(t) ** (p / 2 - 2) * ((p / 2 - 1) * Math.exp(-t / 2) - gap(t)),
  },
  Correntropy: {
    title: "correntropy (KMPE with p = 2)", hasSigma: true,
    rho: t => 2 * gap(t),
    weight: t => Math.exp(-t / 2),
    curvature: t => -0.5 * Math.exp(-t / 2),
  },
  Tukey: {
    title: "Tukey's bisquare", hasSigma: true,
    rho: t => (1 - (1 - Math.min(t, 1)) ** 3) / 3,
    weight: t => (1 - Math.min(t, 1)) ** 2,
    curvature: t => -2 * (1 - Math.min(t, 1)),
  },
  Cauchy: {
    title: "Cauchy", hasSigma: true,
    rho: t => Math.log1p(t),
    weight: t => 1 / (1 + t),
    curvature: t => -1 / (1 + t) ** 2,
  },
  Huber: {
    title: "Huber", hasSigma: true,
    rho: t => t <= 1 ? t : 2 * Math.sqrt(t) - 1,
    weight: t => 1 / Math.sqrt(Math.max(t, 1)),
    curvature: t => t <= 1 ? 0 : -0.5 * t ** -1.5,
  },
  MPE: {
    title: "power p of the residual (MPE)", hasP: true,
    concave: p => p <= 2, singular: p => p < 2,
    rho: (t, p) => 2 / p * t ** (p / 2),
    weight: (t, p) => t ** (p / 2 - 1),
    curvature: (t, p) => p === 2 ? 0 : (p / 2 - 1) * t ** (p / 2 - 2),
  },
  Squared: {
    title: "least squares",
    rho: t => t,
    weight: () => 1,
    curvature: () => 0,
  },
};

// ρ, ρ', ρ'' of s for a name, p and σ.
function lossOf({ loss: name, p, sigma }) {
  const unit = LOSSES[name];
  const scale2 = unit.hasSigma ? sigma * sigma : 1;
  return {
    name,
    concave: unit.concave ? unit.concave(p) : true,
    singular: unit.singular ? unit.singular(p) : false,
    rho: s => scale2 * unit.rho(s / scale2, p),
    weight: s => unit.weight(s / scale2, p),
    curvature: s => unit.curvature(s / scale2, p) / scale2,
  };
}

const median = values => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(0.5 * sorted.length) - 1)];
};

const residuals = (points, [a, b]) => points.map(([x, y]) => y - a - b * x);

// The step that weighted least squares takes from residuals r: metric m, pulls w r.
function step(points, m, w, r) {
  let s0 = 0, s1 = 0, s2 = 0, t0 = 0, t1 = 0;
  const centre = points.reduce((sum, [x], i) => sum + m[i] * x, 0) / m.reduce((a, b) => a + b, 0);
  points.forEach(([x], i) => {
    const u = x - centre;
    s0 += m[i]; s1 += m[i] * u; s2 += m[i] * u * u;
    t0 += w[i] * r[i]; t1 += w[i] * r[i] * u;
  });
  const det = s0 * s2 - s1 * s1;
  if (!(det > 1e-14 * s0 * s2)) return null;  // one input only: no slope
  const b = (s0 * t1 - s1 * t0) / det;
  const a = (t0 - s1 * b) / s0;
  return [a - b * centre, b];
}

const ones = points => points.map(() => 1);

function leastSquares(points) {
  return step(points, ones(points), ones(points), points.map(([, y]) => y)) || [0, 0];
}

// --- the start: S and MM (Yohai 1987) -----------------------------------------------------

const C_BREAKDOWN = 1.5476449809322568;  // ρ has mean ½ for Gaussian residuals
const C_EFFICIENT = 4.685064885498482;   // 95% efficiency
const bisquareWeight = u => (1 - Math.min(u, 1)) ** 2;

// The M-scale: Σ ρ(r / cσ) / n = b with the bisquare, by bisection and Newton on log σ².
function mScale(s, b) {
  const mean = v => s.reduce((sum, si) => sum + 1 - (1 - Math.min(si / (C_BREAKDOWN ** 2 * v), 1)) ** 3, 0)
    / s.length;
  let high = Math.max(...s) + 1e-300, low = high * 1e-30;
  if (mean(low) <= b) return 0;
  for (let i = 0; i < 80; i++) {
    const middle = Math.sqrt(low * high);
    if (mean(middle) > b) low = middle; else high = middle;
  }
  return Math.sqrt(Math.sqrt(low * high));
}

function descendBisquare(points, theta, sigma, b, steps) {
  for (let i = 0; i < steps; i++) {
    const r = residuals(points, theta);
    const s = r.map(v => v * v);
    const scale = sigma === null ? mScale(s, b) : sigma;
    if (scale === 0) return theta;
    const c = (sigma === null ? C_BREAKDOWN : C_EFFICIENT) * scale;
    const w = s.map(si => bisquareWeight(si / (c * c)));
    const move = step(points, w, w, r);
    if (move === null) return theta;
    theta = [theta[0] + move[0], theta[1] + move[1]];
    if (Math.hypot(move[0], move[1]) < 1e-9 * scale) break;
  }
  return theta;
}

function start(points) {
  const n = points.length;
  const b = 0.5 * (1 - 2 / n);
  const scaleOf = theta => mScale(residuals(points, theta).map(r => r * r), b);
  const candidates = [leastSquares(points)];
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) {
      const dx = points[i][0] - points[j][0];
      if (Math.abs(dx) < 1e-9) continue;
      const slope = (points[i][1] - points[j][1]) / dx;
      candidates.push([points[i][1] - slope * points[i][0], slope]);
    }
  }
  const best = candidates
    .map(theta => descendBisquare(points, theta, null, b, 1))
    .map(theta => ({ theta, scale: scaleOf(theta) }))
    .sort((one, other) => one.scale - other.scale)
    .slice(0, 5)
    .map(({ theta }) => descendBisquare(points, theta, null, b, 50))
    .map(theta => ({ theta, scale: scaleOf(theta) }))
    .sort((one, other) => one.scale - other.scale)[0];
  return descendBisquare(points, best.theta, best.scale || 1e-12, b, 50);
}

// --- the fit ------------------------------------------------------------------------------

// Return {theta, weights, cost, message}; message is empty when all is well.
function fitLine(points, setting) {
  if (setting.loss === "Squared") {
    const theta = leastSquares(points);
    return { theta, weights: ones(points), start: theta, message: "" };
  }
  const loss = lossOf(setting);
  let theta = start(points);
  const first = theta;
  let floor = 0;
  if (loss.singular) {
    // Residuals below 1e-7 of the typical one count as this large.
    const typical = Math.sqrt(median(residuals(points, theta).map(r => r * r)) / 0.454936423119572);
    floor = (1e-7 * typical) ** 2;
  }
  const slope = floor > 0 ? loss.weight(floor) : 0;
  const rho = s => floor > 0 ? loss.rho(Math.max(s, floor)) - slope * Math.max(floor - s, 0) : loss.rho(s);
  const costOf = at => residuals(points, at).reduce((sum, r) => sum + rho(r * r), 0);
  let cost = costOf(theta), message = "";
  for (let i = 0; i < 3000; i++) {
    const r = residuals(points, theta);
    const s = r.map(v => Math.max(v * v, floor));
    const w = s.map(loss.weight);
    if (!(w.reduce((a, b) => a + b, 0) > 0)) {
      message = "Every point has weight 0: σ is too small for these residuals.";
      break;
    }
    const newton = i >= 20 && !loss.singular;
    const bend = s.map(si => si > 0 ? 2 * si * loss.curvature(si) : 0);
    const m = newton ? w.map((wi, k) => Math.max(wi + bend[k], 0.02 * wi))
      : loss.concave ? w : w.map((wi, k) => wi + Math.max(bend[k], 0));
    const move = step(points, m, w, r);
    if (move === null) {
      message = "The points with weight do not determine a line.";
      break;
    }
    let length = 1, moved = null;
    for (let halving = 0; halving < 40; halving++) {
      const next = [theta[0] + length * move[0], theta[1] + length * move[1]];
      const nextCost = costOf(next);
      if (nextCost < cost || (halving === 0 && nextCost === cost)) {
        moved = { next, nextCost };
        break;
      }
      length /= 2;
    }
    if (moved === null) break;  // no lower cost in double precision
    const small = Math.hypot(move[0], move[1]) < 1e-13 * (1 + Math.hypot(theta[0], theta[1]));
    theta = moved.next;
    cost = moved.nextCost;
    if (small) break;
  }
  const weights = residuals(points, theta).map(r => loss.weight(Math.max(r * r, floor)));
  return { theta, weights, start: first, cost, message };
}

if (typeof module !== "undefined") module.exports = { fitLine, leastSquares, lossOf, LOSSES, start };
