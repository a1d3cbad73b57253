// Whether two rankings agree, word after word.

/** Kendall's τ-b of the pairs added so far; null where one of the two is constant. */
export function rankCorrelation() {
  const pairs = [];
  let [agree, untiedFirst, untiedSecond] = [0, 0, 0];
  return {
    add(first, second) {
      for (const [a, b] of pairs) {
        const [x, y] = [Math.sign(first - a), Math.sign(second - b)];
        agree += x * y;
        untiedFirst += Math.abs(x);
        untiedSecond += Math.abs(y);
      }
      pairs.push([first, second]);
    },
    value() {
      const all = Math.sqrt(untiedFirst) * Math.sqrt(untiedSecond);
      return all ? agree / all : null;
    },
  };
}

/** Kendall's τ-b of all pairs. */
export function kendall(pairs) {
  const found = rankCorrelation();
  for (const [first, second] of pairs) found.add(first, second);
  return found.value();
}
