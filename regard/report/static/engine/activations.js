// Activation functions of the feed-forward layers, by the names of model.activation.

const STEP = 1 / 128; // between the points whose values the table of erf holds
const FARTHEST = 6; // from here on erf is 1 in 64 bits
const TABLE = erfTable();

/** erf(x) by its Maclaurin series 2/√π · e^(-x²) · Σ 2ⁿ x^(2n+1) / (2n+1)!!, whose terms all have one sign. */
function erfSeries(x) {
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

function erfTable() {
  return Float64Array.from({ length: FARTHEST / STEP + 1 }, (_, i) => (i ? erfSeries(i * STEP) : 0));
}

/** erf(x): Taylor's polynomial of degree 5 around the nearest point of the table. */
function erf(x) {
  const distance = Math.abs(x);
  if (distance >= FARTHEST) return Math.sign(x);
  const nearest = Math.round(distance / STEP);
  const a = nearest * STEP;
  const h = distance - a;
  const slope = (2 / Math.sqrt(Math.PI)) * Math.exp(-a * a); // the first derivative; the others are its multiples
  const a2 = a * a;
  const fourth = (a * (12 - 8 * a2)) / 24;
  const fifth = (16 * a2 * a2 - 48 * a2 + 12) / 120;
  const polynomial = h * (1 + h * (-a + h * ((4 * a2 - 2) / 6 + h * (fourth + h * fifth))));
  return Math.sign(x) * (TABLE[nearest] + slope * polynomial);
}

function relu(x) {
  return x > 0 ? x : 0;
}

/** x · Φ(x).  Hendrycks and Gimpel 2016. */
function gelu(x) {
  return 0.5 * x * (1 + erf(x * Math.SQRT1_2));
}

/** GELU by its approximation with tanh, as GPT-2 has it. */
function geluTanh(x) {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));
}

/** x · sigmoid(x). */
export function silu(x) {
  return x / (1 + Math.exp(-x));
}

export const ACTIVATIONS = { relu, gelu, "gelu-tanh": geluTanh, silu };
