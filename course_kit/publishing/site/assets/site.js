// Search over all pages, and the section that is being read marked in the table of contents. The index
// is a script of its own, loaded when somebody first searches: a page opened from disk may not fetch.
(() => {
  const query = document.getElementById("query");
  const found = document.getElementById("found");
  let loading = null;

  const load = () => {
    loading ??= new Promise((ready, failed) => {
      const script = document.createElement("script");
      script.src = "search.js";
      script.onload = () => {
        try {
          const engine = new MiniSearch({
            fields: ["heading", "text"],
            storeFields: ["url", "lesson", "heading"],
            searchOptions: { boost: { heading: 3 }, prefix: true, fuzzy: 0.15, combineWith: "AND" },
          });
          engine.addAll(SECTIONS);
          ready(engine);
        } catch (error) {
          failed(error);
        }
      };
      script.onerror = () => {
        loading = null; // it may be there the next time
        failed(new Error("search.js is missing beside this page"));
      };
      document.head.append(script);
    });
    return loading;
  };

  const entry = ({ url, lesson, heading }) => {
    const link = document.createElement("a");
    link.href = url;
    const from = document.createElement("span");
    from.textContent = lesson;
    link.append(heading, from);
    const item = document.createElement("li");
    item.append(link);
    return item;
  };

  const show = (results, words) => {
    found.replaceChildren();
    found.hidden = !words;
    if (!words) return;
    const list = document.createElement("ol");
    list.append(...results.slice(0, 12).map(entry));
    const head = document.createElement("p");
    head.textContent = results.length ? `${results.length} sections` : `Nothing on “${words}”`;
    found.append(head, list);
  };

  const search = () => {
    const words = query.value.trim();
    const isAsked = () => words === query.value.trim();
    load().then((index) => isAsked() && show(words ? index.search(words) : [], words), (error) => {
      found.hidden = false;
      found.textContent = `No search: ${error.message}.`;
    });
  };

  query.addEventListener("input", search);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !found.hidden) {
      found.hidden = true;
      query.focus();
    }
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) found.hidden = true;
  });

  const view = document.querySelector("main iframe");
  const skip = document.querySelector('.skips a[href="#first-view"]');
  if (view && skip) {
    view.id = "first-view";
    view.tabIndex = -1;
    skip.hidden = false;
  }

  const contents = document.querySelector(".contents details");
  if (contents && matchMedia("(max-width: 62rem)").matches) contents.open = false;
  const links = new Map(
    [...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link])
  );
  const headings = [...document.querySelectorAll("main :is(h2, h3)[id]")];
  const mark = () => {
    const read = headings.filter((heading) => heading.getBoundingClientRect().top < 120).pop();
    links.forEach((link) => link.removeAttribute("aria-current"));
    if (read) links.get(read.id)?.setAttribute("aria-current", "true");
  };
  if (links.size) {
    addEventListener("scroll", () => requestAnimationFrame(mark), { passive: true });
    mark();
  }

  // On paper everything is unfolded but solutions; afterwards all is as it was.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")].filter(
      (part) => !/^Solution\b/.test(part.querySelector("summary")?.textContent.trim())
    );
    unfolded.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => unfolded.forEach((part) => { part.open = false; }));
})();
