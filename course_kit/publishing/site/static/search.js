// The search: sections with an excerpt of each, from an index that holds their text. Sphinx's own
// would fetch pages for excerpts, which a browser refuses from files. All of it is text, never markup.
(() => {
  const [MOST, BEFORE, AFTER] = [40, 90, 170]; // results, and characters around a word that was found
  const WORDS = /[\p{L}\p{N}_]+/gu;
  const stemmer = new Stemmer();
  const stems = new Map();
  const stemOf = (word) => {
    if (!stems.has(word)) stems.set(word, stemmer.stemWord(word));
    return stems.get(word);
  };

  /** The words to look for; those that say nothing only where there are no others. */
  function termsOf(query) {
    const words = [...new Set(query.toLowerCase().match(WORDS) ?? [])];
    const telling = words.filter((word) => !stopwords.has(word));
    return (telling.length ? telling : words).map((word) => ({ word, stem: stemOf(word) }));
  }

  /** Where a text holds a term, as it stands, as another form of it, or as the start of a word. */
  function placesOf(text, terms) {
    const places = [];
    for (const { 0: found, index } of text.toLowerCase().matchAll(WORDS)) {
      const term = terms.findIndex(({ word, stem }) =>
        stemOf(found) === stem || (word.length > 2 && found.startsWith(word)));
      if (term >= 0) places.push({ term, from: index, to: index + found.length });
    }
    return places;
  }

  function lookInto([page, title, anchor, heading, text], terms) {
    const [inTitle, inHeading, inText] = [title, heading, text].map((part) => placesOf(part, terms));
    const known = new Set([...inTitle, ...inHeading, ...inText].map(({ term }) => term));
    const named = new Set(inHeading.map(({ term }) => term)).size;
    const score = 8 * named + (anchor ? 0 : named) + Math.log1p(inText.length);
    return { page, title, anchor, heading, text, inText, known: known.size, score,
      own: named + inText.length > 0 };
  }

  /** Where the first part of a text begins that holds as many of the terms as any. */
  function bestPlace(places) {
    const held = places.map(({ from }) =>
      new Set(places.filter((one) => one.from >= from && one.to <= from + AFTER).map(({ term }) => term)).size);
    return places.length ? places[held.indexOf(Math.max(...held))].from : 0;
  }

  /** That part of a text, with marks; its start where only the heading holds the terms. */
  function excerpt({ text, inText }) {
    const at = bestPlace(inText);
    const start = at <= BEFORE ? 0 : text.indexOf(" ", at - BEFORE) + 1;
    const last = text.lastIndexOf(" ", start + BEFORE + AFTER);
    const end = text.length <= start + BEFORE + AFTER || last <= at ? text.length : last;
    const shown = document.createElement("p");
    shown.className = "context";
    let done = start;
    if (start) shown.append("… ");
    for (const { from, to } of inText.filter((place) => place.from >= start && place.to <= end)) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(from, to);
      shown.append(text.slice(done, from), mark);
      done = to;
    }
    shown.append(text.slice(done, end), end < text.length ? " …" : "");
    return shown;
  }

  function resultOf(found) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `${found.page}.html${found.anchor && `#${found.anchor}`}`;
    link.textContent = found.heading;
    item.append(link);
    if (found.anchor) item.append(` in ${found.title}`);
    item.append(excerpt(found));
    return item;
  }

  Search.query = (query) => {
    const terms = termsOf(query);
    const looked = Search._index.map((section) => lookInto(section, terms)).filter(({ own }) => own);
    const most = Math.max(0, ...looked.map(({ known }) => known)); // of the words in one section
    const found = looked.filter(({ known }) => known === most).sort((a, b) => b.score - a.score);
    Search.output.replaceChildren(...found.slice(0, MOST).map(resultOf));
    Search.stopPulse();
    Search.title.textContent = "Sections";
    const one = found.length === 1 ? "One section holds" : `${found.length} sections hold`;
    const what = most < terms.length ? `${most} of the ${terms.length} words` : "what you look for";
    const rest = found.length > MOST ? `; these are the first ${MOST}` : "";
    Search.status.setAttribute("role", "status");
    Search.status.textContent = found.length ? `${one} ${what}${rest}.` : "No section holds these words.";
  };
})();
