// A switch shows one of several variants; all switches of the page with the same name turn together.

export function setUpSwitch(area) {
  const choices = area.querySelector(".choices");
  const variants = [...area.querySelectorAll(":scope > .variant")];
  choices.hidden = false;
  const turn = (value) => {
    for (const variant of variants) variant.hidden = variant.dataset.value !== value;
  };
  choices.addEventListener("change", (event) => turn(event.target.value));
  const checked = choices.querySelector("input:checked"); // a page that is opened again may remember it
  if (checked !== null) turn(checked.value);
}
