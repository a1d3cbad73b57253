// Whether the page is dark: as the site was set on this machine, if the page stands in it, or else as
// the reader's system prefers.

const prefersNight = matchMedia("(prefers-color-scheme: dark)");
const SITE_MODE = "mode"; // where the site's theme keeps "light", "dark" or "auto"

export const isNight = () => {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : prefersNight.matches;
};

/** Calls `run` now, and whenever day turns to night or back. */
export function byDayAndNight(run) {
  prefersNight.addEventListener("change", run);
  addEventListener("course-night", run);
  run();
}

const SRGB = /^color\(srgb (\S+) (\S+) (\S+)\)$/;

/** Colours of light paper as they are on dark paper, by a CSS formula with {} for one of them. Where
 *  a browser cannot compute it, they stay as they are. */
export function nightColours(colours, formula) {
  const probe = document.createElement("span");
  document.body.append(probe);
  const computed = getComputedStyle(probe);
  const hex = (part) => Math.round(255 * Math.max(0, Math.min(1, Number(part) || 0))).toString(16).padStart(2, "0");
  const made = colours.map((colour) => {
    probe.style.color = `color(from ${formula.replace("{}", colour)} srgb r g b)`;
    const parts = SRGB.exec(computed.color);
    return parts ? `#${parts.slice(1).map(hex).join("")}` : colour;
  });
  probe.remove();
  return made;
}

/** Follows the site's choice, here and in another tab. */
export function followSite() {
  const follow = () => {
    let mode = null;
    try {
      mode = localStorage.getItem(SITE_MODE);
    } catch {
      return; // a browser that keeps nothing
    }
    if (["light", "dark"].includes(mode)) document.documentElement.dataset.theme = mode;
    else delete document.documentElement.dataset.theme;
    dispatchEvent(new Event("course-night"));
  };
  addEventListener("storage", follow);
  follow();
}
