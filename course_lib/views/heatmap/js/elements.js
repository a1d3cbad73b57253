import { sameCell } from "./cells.js";

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

export function labelled(text, ...controls) {
  return make("label", {}, text, ...controls);
}

/** A tint of light paper, and by night the one that `NIGHT` of `colours.py` makes of it. */
export function dayAndNight(colour) {
  return colour
    && `light-dark(${colour}, oklch(from ${colour} calc(0.22 + 0.57 * pow(max(0, 1 - l), 0.6)) calc(0.75 * c) h))`;
}

/** A strip of colours, and below it texts at shares of its length. */
export function ramp(colours, ticks) {
  const gradient = colours.filter((_, place) => place % 15 === 0 || place === colours.length - 1);
  const strip = make("div", { class: "ramp" });
  strip.style.background = `linear-gradient(to right, ${gradient.join(",")})`;
  const numbers = ticks.map(([text, share]) => {
    const number = make("span", { class: "tick", textContent: text });
    number.style.setProperty("--at", `${100 * share}%`);
    return number;
  });
  return [strip, make("div", { class: "ticks" }, ...numbers)];
}

/** Changes a trait here, in whatever is linked to it, and in the kernel if there is one. */
export function change(model, name, value) {
  model.set(name, value);
  model.save_changes();
}

/** A menu that asks the kernel for the view as a file; none where there is no kernel. */
export function saveControl(model, listen) {
  if (!model.send) return [];
  const menu = make("select", { "aria-label": "Save this view" }, new Option("Save as …", ""),
    ...["SVG", "PNG", "CSV"].map((form) => new Option(form, form.toLowerCase())));
  menu.addEventListener("change", () => {
    if (menu.value) model.send({ save: menu.value });
    menu.value = "";
  });
  listen("msg:custom", ({ saved }, [bytes]) => {
    const link = make("a", { href: URL.createObjectURL(new Blob([bytes])), download: `attention.${saved}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
  return [menu];
}

/** Pins what is selected, a cell or a word; a second time lets it go. */
export function pin(model, cell) {
  change(model, "selected", sameCell(model.get("selected"), cell) ? null : cell);
}

/** Calls `draw` now and whenever the width changes; returns what ends that. */
export function watchWidth(element, draw) {
  let width = null;
  const look = () => {
    if (element.clientWidth === 0 || element.clientWidth === width) return;
    width = element.clientWidth;
    draw();
  };
  const observer = new ResizeObserver(look);
  observer.observe(element);
  look();
  return () => observer.disconnect();
}
