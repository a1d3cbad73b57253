// The part of LaTeX that the lessons' equations need, as MathML. Parsing needs no page.

const GREEK = { alpha: "α", beta: "β", sigma: "σ" };
const SIGNS = { cdot: "·", circ: "∘", sum: "∑", leftarrow: "←" };
const SPACES = { ",": "0.17em", ";": "0.28em", quad: "1em", qquad: "2em" };
const OVER = { hat: "^", bar: "¯", overrightarrow: "→", overleftarrow: "←" };
const FUNCTIONS = new Set(["tanh", "exp", "max"]);

/** An equation as [tag, text] and [tag, children, attributes] of MathML. */
export function parsed(latex) {
  const tokens = latex.match(/\\[a-zA-Z]+|\\.|[a-zA-Z]|\d+|[^\s]/gu) ?? [];
  let at = 0;

  function row(end) {
    const items = [];
    while (at < tokens.length && tokens[at] !== end) items.push(scripted());
    at += 1;
    return items.length === 1 ? items[0] : ["mrow", items];
  }
  function scripted() {
    const base = atom();
    const scripts = {};
    while (["_", "^"].includes(tokens[at])) scripts[tokens[at++]] = atom();
    const { _: below, "^": above } = scripts;
    if (below && above) return ["msubsup", [base, below, above]];
    if (below) return ["msub", [base, below]];
    return above ? ["msup", [base, above]] : base;
  }
  function atom() {
    const token = tokens[at++];
    if (token === "{") return row("}");
    if (token.startsWith("\\")) return command(token.slice(1));
    if (/[\d\p{L}]/u.test(token)) return [/\d/.test(token) ? "mn" : "mi", token];
    return ["mo", token === "-" ? "−" : token, { stretchy: "false" }];
  }
  function command(name) {
    if (name === "left" || name === "right") return ["mo", tokens[at++]];
    if (GREEK[name]) return ["mi", GREEK[name]];
    if (SIGNS[name]) return ["mo", SIGNS[name]];
    if (SPACES[name]) return ["mspace", "", { width: SPACES[name] }];
    if (FUNCTIONS.has(name)) return ["mi", name];
    if (name === "mathrm") return ["mi", textOf(atom())];
    if (name === "frac") return ["mfrac", [atom(), atom()]];
    if (name === "sqrt") return ["msqrt", [atom()]];
    if (OVER[name]) return ["mover", [atom(), ["mo", OVER[name]]]];
    throw new Error(`equation: \\${name} is unknown`);
  }
  return row();
}

const textOf = ([, content]) =>
  typeof content === "string" ? content : content.map(textOf).join("");

/** The name space of MathML, which every parser of HTML knows. */
const mathSpace = () =>
  new DOMParser().parseFromString("<math></math>", "text/html").querySelector("math").namespaceURI;

/** An equation as an element. */
export function equation(latex) {
  const space = mathSpace();
  function built([tag, content, attributes = {}]) {
    const element = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...(typeof content === "string" ? [content] : content.map(built)));
    return element;
  }
  return built(["math", [parsed(latex)]]);
}
