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
