"""Style and script of the page: both grounds, and the few lines that show a head large."""

from __future__ import annotations

from translucid.interpret.figures.colours import DARK, LIGHT, Palette, style_sheet


def _variables(palette: Palette, ground: str) -> str:
    return (
        f"color-scheme: light dark; --ground: {ground}; --panel: {palette.ground}; "
        f"--ink: {palette.ink}; --muted: {palette.muted}; --line: {palette.line}; "
        f"--accent: {palette.accent}; --chip: {palette.panel};"
    )


STYLE = f"""\
:root {{ {_variables(LIGHT, "#f7f8fb")} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK, "#14161c")} }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; padding: 2rem clamp(1rem, 4vw, 3rem) 4rem; max-width: 86rem;
  background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }}
h1 {{ font-size: 1.6rem; line-height: 1.3; margin: 0 0 .5rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.25rem; margin: 3rem 0 .5rem; }}
p {{ max-width: 46rem; margin: .4rem 0; }}
a {{ color: var(--accent); }}
.muted {{ color: var(--muted); }}
nav ol {{ display: flex; flex-wrap: wrap; gap: .2rem .6rem; padding: 0; margin: .5rem 0; }}
nav li {{ margin-left: 1.8rem; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.25rem; margin: 1rem 0; }}
dt {{ color: var(--muted); }}
dd {{ margin: 0; min-width: 0; overflow-wrap: anywhere; }}
.facts {{ background: var(--panel); border: 1px solid var(--line); border-radius: .6rem;
  padding: .2rem 1.2rem; margin-top: 1rem; }}
.doubt {{ border-left: 3px solid var(--accent); padding-left: 2rem; }}
.chips {{ list-style: none; display: flex; flex-wrap: wrap; gap: .35rem; padding: 0;
  margin: .3rem 0 1rem; }}
.chips li {{ background: var(--chip); border: 1px solid var(--line); border-radius: .35rem;
  padding: .05rem .5rem; }}
.figures {{ display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; margin: 1rem 0; }}
figure {{ margin: 0; max-width: 100%; }}
.scroll {{ overflow: auto; max-height: 60rem; border: 1px solid var(--line); border-radius: .6rem;
  background: var(--panel); width: fit-content; max-width: 100%; }}
.scroll:focus-visible, .small-matrix:focus-visible {{ outline: 2px solid var(--accent);
  outline-offset: 2px; }}
.small-matrix[data-side][tabindex] {{ cursor: pointer; }}
.scroll svg {{ display: block; }}
@media (max-width: 40rem) {{
  dl {{ grid-template-columns: 1fr; gap: 0; }}
  dd {{ margin-bottom: .5rem; }}
}}
@media print {{
  .scroll {{ overflow: visible; max-height: none; border: 0; }}
  body {{ max-width: none; }}
}}
{style_sheet(LIGHT)}@media (prefers-color-scheme: dark) {{
{style_sheet(DARK)}}}
"""

SCRIPT = """\
for (const section of document.querySelectorAll("section")) {
  const large = section.querySelector(".matrix");
  const smalls = section.querySelectorAll(".small-matrix[data-side]");
  if (!large || !smalls.length) continue;
  const squares = large.querySelector(".cells");
  const show = (small) => {
    const from = small.querySelector(".cells");
    squares.innerHTML = from.innerHTML;
    const svg = large.closest("svg");
    const name = small.querySelector("title").textContent;
    svg.querySelector("text.head").textContent = name;
    svg.querySelector("title").textContent = name;
    svg.querySelector("desc").textContent = "";
    large.closest(".scroll").setAttribute("aria-label", name);
    const values = large.querySelector(".values");
    if (values && small.dataset.values !== undefined) write(values, squares, small.dataset.values);
    svg.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  for (const small of smalls) {
    small.setAttribute("tabindex", "0");
    small.setAttribute("role", "button");
    small.addEventListener("click", () => show(small));
    small.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      show(small);
    });
  }
}
function write(values, squares, numbers) {
  const matrix = squares.transform.baseVal.consolidate().matrix;
  const columns = Number(values.dataset.columns);
  values.replaceChildren(...numbers.split(" ").flatMap((hundredths, place) => {
    if (!hundredths) return [];
    const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
    text.setAttribute("x", matrix.e + (place % columns + .5) * matrix.a);
    text.setAttribute("y", matrix.f + (Math.floor(place / columns) + .5) * matrix.d + 3.5);
    text.setAttribute("text-anchor", "middle");
    text.setAttribute("class", "small value k" + Math.round(hundredths * .48));
    text.textContent = hundredths === "100" ? "1" : "." + hundredths.padStart(2, "0");
    return [text];
  }));
}
"""
