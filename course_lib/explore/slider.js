// A slider over words: what it says, and what a screen reader hears, is the word.

function render({ model, el }) {
  const words = () => model.get("_options_labels");
  const label = document.createElement("label");
  label.style.cssText = "display: flex; gap: 0.8em; align-items: center; max-width: 34rem";
  const slider = document.createElement("input");
  slider.type = "range";
  slider.style.flex = "1";
  const word = document.createElement("output");
  word.style.minWidth = "5em";
  const say = () => {
    word.textContent = words()[slider.value];
    slider.setAttribute("aria-valuetext", word.textContent);
  };
  const update = () => {
    slider.max = words().length - 1;
    slider.value = model.get("index");
    say();
  };
  slider.addEventListener("input", say);
  slider.addEventListener("change", () => {
    model.set("index", Number(slider.value));
    model.save_changes();
  });
  slider.addEventListener("keydown", (event) => {
    if (/^(Arrow|Page|Home|End)/.test(event.key)) event.stopPropagation(); // or the notebook moves on
  });
  model.on("change:index", update);
  update();
  label.append(model.get("description"), slider, word);
  el.append(label);
  return () => model.off("change:index", update);
}

export default { render };
