// The attention of one example: a picture for each of some steps, the newest unless another one is chosen.

function head(text, scope) {
  const cell = document.createElement("th");
  cell.scope = scope;
  cell.dir = "auto";
  cell.textContent = text;
  return cell;
}

function cellOf(weight, title) {
  const cell = document.createElement("td");
  const share = Math.max(0, Math.min(1, weight));
  cell.style.background = `color-mix(in srgb, var(--accent) ${Math.round(100 * share)}%, var(--quiet))`;
  cell.style.color = share > 0.5 ? "var(--card)" : "var(--ink)";
  cell.textContent = weight >= 0.05 ? weight.toFixed(2).slice(1) : "";
  cell.title = title;
  return cell;
}

export function drawFrame(table, frame) {
  const top = document.createElement("tr");
  top.append(document.createElement("td"), ...frame.columns.map((token) => head(token, "col")));
  const thead = document.createElement("thead");
  thead.append(top);
  const body = document.createElement("tbody");
  frame.weights.forEach((weights, row) => {
    const line = document.createElement("tr");
    line.append(head(frame.rows[row], "row"));
    weights.forEach((weight, column) => {
      line.append(cellOf(weight, `${frame.rows[row]} → ${frame.columns[column]}: ${weight.toFixed(3)}`));
    });
    body.append(line);
  });
  table.replaceChildren(thead, body);
}

export class AttentionView {
  constructor(table, slider, output) {
    [this.table, this.slider, this.output, this.frames] = [table, slider, output, []];
    slider.addEventListener("input", () => this.show());
  }

  update(frames) {
    const follows = Number(this.slider.value) >= this.frames.length - 1;
    const step = this.frames[Number(this.slider.value)]?.step;
    this.frames = frames;
    this.slider.max = frames.length - 1;
    const same = frames.findIndex((frame) => frame.step === step);
    this.slider.value = follows || same < 0 ? frames.length - 1 : same;
    this.show();
  }

  show() {
    const frame = this.frames[Number(this.slider.value)];
    this.output.textContent = frame.step.toLocaleString("en");
    this.slider.setAttribute("aria-valuetext", `step ${frame.step}`);
    drawFrame(this.table, frame);
  }
}
