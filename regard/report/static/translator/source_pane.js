// The text that is typed, and the marks behind it.

export const textarea = document.getElementById("source");
const mirror = document.getElementById("mirror");

/** Mark places { begin, end, weight } of the text: 0 is none, 1 the strongest. */
export function markPlaces(places) {
  mirror.replaceChildren();
  if (!places.length) return;
  const text = textarea.value;
  let at = 0;
  for (const { begin, end, weight } of [...places].sort((a, b) => a.begin - b.begin)) {
    const covered = text.slice(begin, end).trimStart(); // a token begins with the blank before its word
    if (begin < at || !covered) continue;
    mirror.append(text.slice(at, end - covered.length));
    const mark = document.createElement("mark");
    mark.textContent = covered;
    mark.style.setProperty("--weight", (0.12 + 0.5 * weight).toFixed(3));
    mirror.append(mark);
    at = end;
  }
  mirror.append(`${text.slice(at)}\n`);
  mirror.scrollTop = textarea.scrollTop;
}

textarea.addEventListener("scroll", () => {
  mirror.scrollTop = textarea.scrollTop;
});
