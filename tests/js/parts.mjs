// The parts of the view that need no page.

const folder = new URL("../../course_lib/views/heatmap/js/", import.meta.url);

export const load = (part) => import(new URL(`${part}.js`, folder));
