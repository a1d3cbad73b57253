// Picks a text, tints its words by each measure, and strikes out what the slider erases.
(() => {
  const source = document.getElementById("data");
  if (!source) return;
  const texts = JSON.parse(source.textContent);
  const [pick, erase, erased, views] = ["pick", "erase", "erased", "views"].map((id) =>
    document.getElementById(id)
  );
  const element = (name, className, text) => {
    const made = document.createElement(name);
    made.className = className;
    made.textContent = text;
    return made;
  };
  texts.forEach(({ words, label }, place) => {
    const begin = words.slice(0, 8).join(" ");
    pick.append(new Option(`${place + 1}. ${label}: ${begin}${words.length > 8 ? " …" : ""}`, place));
  });

  function show() {
    const text = texts[pick.value];
    const step = Number(erase.value);
    const count = text.counts[step];
    erased.textContent = `${count} of ${text.words.length} words erased`;
    erase.setAttribute("aria-valuetext", erased.textContent);
    views.replaceChildren(
      ...text.views.map(({ name, shares, first, steps }) => {
        const gone = new Set(first.slice(0, count));
        const view = element("div", "view", "");
        view.append(
          element("h3", "", name),
          element("p", "value", `P(${text.label}) = ${steps[step].toFixed(2)}`)
        );
        const line = element("p", "", "");
        text.words.forEach((word, place) => {
          const share = shares[place];
          const kind = share < 0 ? "against" : "for";
          const made = element("span", `word ${gone.has(place) ? "gone" : kind}`, word);
          made.style.setProperty("--share", Math.abs(share));
          line.append(made, " ");
        });
        view.append(line);
        return view;
      })
    );
  }

  function move(by) {
    pick.value = (Number(pick.value) + by + texts.length) % texts.length;
    show();
  }
  pick.addEventListener("change", show);
  erase.addEventListener("input", show);
  document.getElementById("before").addEventListener("click", () => move(-1));
  document.getElementById("next").addEventListener("click", () => move(1));
  show();
})();
