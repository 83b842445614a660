// Values of a chart are read out beside the pointer, at a touch, and by the arrow keys.

const REACH = 48; // pixels from the pointer to a value, beyond which nothing is read out
const NAMESPACE = "http://www.w3.org/2000/svg";

export function parsePoints(text) {
  return text.split("\n").filter(Boolean).map((line) => {
    const [x, y, heading, value] = line.split("\t");
    return { x: Number(x), y: Number(y), heading, value };
  });
}

/** The values that belong to the one nearest to (x, y): those at the same place with the same heading. */
export function nearest(points, x, y, reach) {
  let best = null;
  let least = Infinity;
  for (const point of points) {
    const distance = Math.hypot(point.x - x, (point.y - y) / 3); // curves are read by columns
    if (distance < least) [best, least] = [point, distance];
  }
  if (best === null || least > reach) return [];
  return points.filter((point) => point.x === best.x && point.heading === best.heading);
}

let box = null;

/** The one box that all charts share; what it says is also said to those who cannot see it. */
function sharedBox() {
  if (box === null) {
    box = document.createElement("div");
    box.className = "readout";
    box.setAttribute("role", "status");
    box.hidden = true;
    document.body.append(box);
    window.addEventListener("scroll", () => (box.hidden = true), { passive: true, capture: true });
  }
  return box;
}

function fill(group) {
  const shared = sharedBox();
  const heading = document.createElement("strong");
  heading.textContent = group[0].heading;
  const lines = [...new Set(group.map((point) => point.value))].filter(Boolean).slice(0, 12);
  shared.replaceChildren(heading, ...lines.map((text) => {
    const line = document.createElement("div");
    line.textContent = text;
    return line;
  }));
  shared.hidden = false;
  return shared;
}

function place(shared, left, top) {
  const width = shared.offsetWidth;
  const height = shared.offsetHeight;
  const room = document.documentElement.clientWidth - width - 8;
  const above = top - height - 14;
  shared.style.left = `${Math.max(8, Math.min(left + 14, room))}px`;
  shared.style.top = `${above > 8 ? above : top + 18}px`;
}

export function setUpReadout(plot) {
  const svg = plot.querySelector("svg");
  const points = parsePoints(plot.dataset.readout);
  if (points.length === 0) return;
  const scale = () => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  const dots = document.createElementNS(NAMESPACE, "g");
  dots.setAttribute("class", "dots");
  svg.append(dots);
  let chosen = -1;

  const hide = () => {
    sharedBox().hidden = true;
    dots.replaceChildren();
  };
  const show = (group) => {
    if (group.length === 0) return hide();
    const shared = fill(group);
    const frame = svg.getBoundingClientRect();
    const factor = scale();
    dots.replaceChildren(...group.map((point) => {
      const dot = document.createElementNS(NAMESPACE, "circle");
      dot.setAttribute("cx", point.x);
      dot.setAttribute("cy", Math.max(0, point.y));
      dot.setAttribute("r", 5);
      return dot;
    }));
    const top = Math.min(...group.map((point) => point.y));
    place(shared, frame.left + group[0].x * factor, frame.top + Math.max(0, top) * factor);
    return undefined;
  };
  const point = (event) => {
    const frame = svg.getBoundingClientRect();
    const factor = scale();
    const reach = (event.pointerType === "touch" ? 2 : 1) * REACH;
    show(nearest(points, (event.clientX - frame.left) / factor, (event.clientY - frame.top) / factor, reach));
  };
  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") hide();
  });
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") return hide();
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return undefined;
    event.preventDefault();
    const current = points[chosen];
    do {
      chosen = Math.max(0, Math.min(points.length - 1, chosen + step));
    } while (chosen > 0 && chosen < points.length - 1 && current && points[chosen].x === current.x
      && points[chosen].heading === current.heading);
    show(points.filter((one) => one.x === points[chosen].x && one.heading === points[chosen].heading));
    return undefined;
  });
}
