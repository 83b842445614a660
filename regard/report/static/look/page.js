// Helpers that build DOM elements.

export function byId(id) {
  return document.getElementById(id);
}

/** make("p", {class: "note"}, "text", child) -> element. Text is never read as HTML. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A line of secondary text. */
export function note(text) {
  return make("p", { class: "note" }, text);
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element. */
export function makeSvg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Replace the children of an element; null children are skipped. */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null));
}

/** Resize a canvas to the resolution of the screen; returns its context, cleared. */
export function resizeCanvas(canvas, width, height) {
  const ratio = Math.max(1, window.devicePixelRatio || 1);
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
