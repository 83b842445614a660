// Asks for the state of the training every other second, as long as it goes on and the page can be seen.

import { Curve, formatNumber } from "./curve.js";
import { showSamples } from "./samples.js";
import { AttentionView } from "./attention.js";

const INTERVAL = 2000;
const MAX_FAILURES = 3;
const byId = (id) => document.getElementById(id);
const NOUNS = { training: "In training", quiet: "No news", preparing: "Preparing", finished: "Finished", stopped: "Stopped" };
const curves = {};
const attention = new AttentionView(byId("attention"), byId("frame"), byId("frame-step"));
let last = null;

export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} seconds`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} minutes`;
  return `${(seconds / 3600).toFixed(1)} hours`;
}

function describe(state) {
  const parts = [NOUNS[state.state] ?? state.state];
  if (state.step) {
    const end = state.last_step ? ` of ${state.last_step.toLocaleString("en")}` : "";
    parts.push(`step ${state.step.toLocaleString("en")}${end}`);
    parts.push(`${duration(state.seconds)} of training`);
  }
  const left = state.seconds_left;
  if (state.state === "training" && left !== null && left !== undefined) {
    parts.push(left < 1 ? "scoring follows" : `about ${duration(left)} left`);
  }
  if (state.state === "training" && state.tokens_per_second) {
    parts.push(`${formatNumber(Math.round(state.tokens_per_second))} ${state.unit}s per second`);
  }
  if (state.state === "quiet") parts.push("it is being validated or scored, or was stopped");
  return parts.join(" · ");
}

function curve(name, title, names, series) {
  if (!(name in curves)) {
    curves[name] = new Curve(title, names);
    byId("curves").append(curves[name].figure);
  }
  curves[name].update(series);
}

function column(rows, index) {
  return rows.map((row) => [row[0], row[index]]);
}

function showCurves(state) {
  const [train, dev] = [state.train ?? [], state.dev ?? []];
  byId("curves-section").hidden = train.length === 0;
  if (train.length === 0) return;
  const both = (index) => [{ name: "training", points: column(train, index) }, { name: "dev", points: column(dev, index) }];
  curve("loss", `Loss, nats per ${state.unit}`, ["training", "dev"], both(1));
  if (state.score_name) {
    const name = state.score_name;
    curve("score", `${name} on dev`, [name], [{ name, points: column(dev, 3) }]);
  }
  curve("accuracy", `Accuracy, % of ${state.unit}s`, ["training", "dev"], both(2));
  curve("rate", "Learning rate", ["learning rate"], [{ name: "learning rate", points: column(train, 3) }]);
}

function show(state) {
  last = state;
  byId("subtitle").textContent = state.title ?? "";
  byId("status").textContent = describe(state);
  byId("progress").value = state.state === "finished" ? 1 : state.fraction ?? 0;
  document.title = `${state.step ? `step ${state.step.toLocaleString("en")} · ` : ""}${state.name}`;
  showCurves(state);
  const samples = state.samples ?? [];
  byId("samples-section").hidden = samples.length === 0;
  const noun = state.words?.noun || "prediction";
  byId("samples-note").textContent = `The first ${samples.length} dev examples, which are always the same.`;
  showSamples(byId("samples"), samples, noun);
  const frames = state.attention ?? [];
  byId("attention-section").hidden = frames.length === 0;
  if (frames.length > 0) attention.update(frames);
  if (state.report && !byId("report-link")) {
    const link = document.createElement("a");
    link.id = "report-link";
    link.href = "/report.html";
    link.textContent = "Open the report";
    byId("status").after(link);
  }
  document.body.dataset.ready = "";
}

function sayGone() {
  const at = last?.step ? ` at step ${last.step.toLocaleString("en")}` : "";
  byId("status").textContent = `The server has ended${at}; what is shown is its last state.`;
}

async function run() {
  let failures = 0;
  while (failures < MAX_FAILURES) {
    if (!document.hidden || last === null) {
      try {
        const answer = await fetch("/state.json", { cache: "no-store" });
        show(await answer.json());
        failures = 0;
        if (last.state === "finished" || last.state === "stopped") return;
      } catch {
        failures += 1;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, INTERVAL));
  }
  sayGone();
}

run();
