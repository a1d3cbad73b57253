// A box to type a text into. Ctrl+Enter, or Cmd+Enter, hands the text over as the button does.

function render({ model, el }) {
  const box = document.createElement("textarea");
  box.className = "widget-textarea-input";
  box.style.cssText = "width: 100%; box-sizing: border-box; font: inherit; padding: 4px 8px;"
    + "background: var(--jp-widgets-input-background-color, Field);" // dark in a dark JupyterLab
    + "color: var(--jp-widgets-input-color, FieldText)";
  box.setAttribute("aria-label", model.get("placeholder"));
  const update = () => {
    if (box.value !== model.get("value")) box.value = model.get("value");
    box.rows = model.get("rows");
    box.placeholder = model.get("placeholder");
  };
  box.addEventListener("input", () => {
    model.set("value", box.value);
    model.save_changes();
  });
  box.addEventListener("keydown", (event) => {
    event.stopPropagation(); // or the notebook would run the cell
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    model.send({ read: box.value });
  });
  for (const name of ["value", "rows", "placeholder"]) model.on(`change:${name}`, update);
  update();
  el.append(box);
  return () => {
    for (const name of ["value", "rows", "placeholder"]) model.off(`change:${name}`, update);
  };
}

export default { render };
