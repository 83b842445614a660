// The predictions for the same examples, the newest in front, and on request all before it.

function line(kind, name, text) {
  const row = document.createElement("div");
  row.className = kind;
  const term = document.createElement("dt");
  const value = document.createElement("dd");
  term.textContent = name;
  value.textContent = text;
  value.dir = "auto";
  row.append(term, value);
  return row;
}

function historyOf(sample, isOpen) {
  const details = document.createElement("details");
  details.className = "history";
  details.open = isOpen;
  const summary = document.createElement("summary");
  summary.textContent = `${sample.history.length - 1} earlier`;
  const list = document.createElement("ol");
  for (const [step, text] of sample.history.slice(0, -1).reverse()) {
    const item = document.createElement("li");
    item.dir = "auto";
    item.textContent = `step ${step.toLocaleString("en")}: ${text || "(nothing)"}`;
    list.append(item);
  }
  details.append(summary, list);
  return details;
}

export function showSamples(list, samples, noun) {
  const wasOpen = [...list.children].map((item) => item.querySelector("details")?.open ?? false);
  list.replaceChildren(...samples.map((sample, number) => {
    const item = document.createElement("li");
    const lines = document.createElement("dl");
    const [step, text] = sample.history[sample.history.length - 1];
    lines.append(line("source", "input", sample.input));
    if (sample.reference) lines.append(line("reference", "reference", sample.reference));
    lines.append(line("translation", `${noun}, since step ${step.toLocaleString("en")}`, text || "(nothing)"));
    item.append(lines);
    if (sample.history.length > 1) item.append(historyOf(sample, wasOpen[number] ?? false));
    return item;
  }));
}
