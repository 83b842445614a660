// What else a word, or a sentence, could be.

const menu = document.getElementById("menu");
let origin = null; // the element that gets the focus back

/** Open the menu at a word with groups { title, entries: [{ text, detail, choose }] }. */
export function openMenu(element, groups) {
  origin = element;
  menu.replaceChildren();
  for (const { title, entries } of groups) {
    const heading = document.createElement("h3");
    heading.textContent = title;
    menu.append(heading, ...entries.map(entryButton));
    if (!entries.length) menu.append(paragraph("none"));
  }
  menu.hidden = false;
  place(element);
  menu.querySelector("button")?.focus();
}

export function closeMenu() {
  if (menu.hidden) return;
  menu.hidden = true;
  if (origin?.isConnected) origin.focus();
}

function entryButton({ text, detail, choose }) {
  const button = document.createElement("button");
  button.type = "button";
  const name = document.createElement("bdi");
  name.textContent = text;
  const small = document.createElement("small");
  small.textContent = detail;
  button.append(name, small);
  button.addEventListener("click", () => {
    closeMenu();
    choose();
  });
  return button;
}

function paragraph(text) {
  const element = document.createElement("p");
  element.textContent = text;
  return element;
}

function place(element) {
  const box = element.getBoundingClientRect();
  const left = Math.min(box.left, document.documentElement.clientWidth - menu.offsetWidth - 12);
  menu.style.left = `${Math.max(8, left) + window.scrollX}px`;
  menu.style.top = `${box.bottom + 6 + window.scrollY}px`;
}

menu.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") closeMenu();
  if (!step) return;
  event.preventDefault();
  const buttons = [...menu.querySelectorAll("button")];
  buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length]?.focus();
});

document.addEventListener("pointerdown", (event) => {
  if (!menu.hidden && !menu.contains(event.target)) menu.hidden = true;
});
