// The page reads without this script. It adds three things: answers, sliders, and a mode in which answers come first.

function parseAnswer(text) {
  const trimmed = text.trim().replace(",", ".");
  const value = Number(trimmed.replace(/%$/, ""));
  if (trimmed === "" || !Number.isFinite(value)) return null;
  return trimmed.endsWith("%") ? value / 100 : value;
}

/** Compare an answer with what was measured, and show the result. */
function setUpQuestion(question) {
  const field = question.querySelector(".field");
  const input = field.querySelector("input");
  const output = field.querySelector("output");
  const lab = question.closest(".lab");
  field.hidden = false;
  const compare = () => {
    const value = parseAnswer(input.value);
    if (value === null) {
      output.textContent = input.value.trim() === "" ? "" : "Please type a number.";
      return;
    }
    const measured = question.dataset.measured;
    output.textContent = measured ? `You predicted ${value}, measured ${measured}.` : "This lab failed.";
    lab.classList.add("answered");
  };
  input.addEventListener("change", compare);
  field.querySelector("button").addEventListener("click", () => {
    compare();
    lab.classList.add("answered");
  });
}

/** A slider shows one of the measurements, each with another value of the knob. */
function setUpKnob(turned) {
  const slider = turned.querySelector("input[type=range]");
  const output = turned.querySelector(".turn output");
  const variants = [...turned.querySelectorAll(".variant")];
  const names = slider.dataset.names.split("|");
  turned.querySelector(".turn").hidden = false;
  slider.addEventListener("input", () => {
    for (const variant of variants) variant.hidden = variant.dataset.value !== slider.value;
    output.textContent = names[Number(slider.value)];
    slider.setAttribute("aria-valuetext", output.textContent);
  });
}

function setUpMode() {
  const box = document.getElementById("predict-first");
  const cover = () => document.body.classList.toggle("covered", box.checked);
  document.querySelector(".mode").hidden = false;
  box.addEventListener("change", cover);
  cover(); // a page that is opened again may remember the box
}

document.querySelectorAll(".predict").forEach(setUpQuestion);
document.querySelectorAll(".turned").forEach(setUpKnob);
setUpMode();
document.body.dataset.ready = "";
