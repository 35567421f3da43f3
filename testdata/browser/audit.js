// What is wrong with a page for those who read it with a keyboard, a screen reader or
// tired eyes: a list of "rule: element: detail", empty for a sound page. Ratios are those
// of WCAG 2.2: 1.4.3 for text, 1.4.11 for what else carries meaning.
(() => {
  "use strict";
  const wrong = [];
  const report = (rule, element, detail) => {
    const where = element === document ? "document" : element.cloneNode(false).outerHTML.slice(0, 120);
    wrong.push(`${rule}: ${where}: ${detail}`);
  };

  // A colour as [red, green, blue, alpha], all of 0 to 1, for every syntax of CSS: what a
  // canvas makes of it.
  const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const colours = new Map();
  const colour = (css) => {
    if (!colours.has(css)) colours.set(css, painted(css));
    return colours.get(css);
  };
  const painted = (css) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = css;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data].map((part) => part / 255);
  };
  const over = ([r, g, b, a], [r2, g2, b2]) => [r * a + r2 * (1 - a), g * a + g2 * (1 - a), b * a + b2 * (1 - a), 1];
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const contrast = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };

  // What is behind an element: backgrounds of all that it is in, and in a picture the
  // rectangles that were drawn before and lie under it.
  const papers = new Map();
  const paperOf = (element) => {
    if (!element) return [1, 1, 1, 1];
    if (!papers.has(element)) {
      const own = element instanceof SVGElement && !(element instanceof SVGSVGElement) ? "transparent" : getComputedStyle(element).backgroundColor;
      papers.set(element, over(colour(own), paperOf(element.parentElement)));
    }
    return papers.get(element);
  };
  const behind = (element) => {
    let paper = paperOf(element);
    const picture = element instanceof SVGElement && element.closest("svg");
    if (!picture) return paper;
    const box = element.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    for (const rect of picture.querySelectorAll("rect")) {
      if (!(rect.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
      const style = getComputedStyle(rect);
      const b = rect.getBoundingClientRect();
      if (style.fill === "none" || x < b.left || x > b.right || y < b.top || y > b.bottom) continue;
      const [r, g, bl, a] = colour(style.fill);
      paper = over([r, g, bl, a * style.fillOpacity * style.opacity], paper);
    }
    return paper;
  };
  const seen = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
  const legible = (element, css, least, rule) => {
    const paper = behind(element);
    const ratio = contrast(over(colour(css), paper), paper);
    if (ratio < least) report(rule, element, `${ratio.toFixed(2)}:1 is below ${least}:1`);
  };

  for (const element of document.body.querySelectorAll("*")) {
    const style = getComputedStyle(element);
    const says = [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim() !== "");
    if (says && seen(element) && !["SCRIPT", "STYLE"].includes(element.tagName)) {
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
      legible(element, element instanceof SVGElement ? style.fill : style.color, large ? 3 : 4.5, "text-contrast");
    }
    if (element.matches("svg .line, svg .ref") && style.stroke !== "none") legible(element, style.stroke, 3, "line-contrast");
    if (element.tabIndex > 0) report("tab-order", element, "a positive tabindex");
  }

  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) report("unique-id", document, id);
  for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls", "for", "href"]) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      const value = element.getAttribute(attribute);
      const to = attribute === "href" ? (value.startsWith("#") ? [value.slice(1)] : []) : value.split(/\s+/);
      for (const id of to) if (!document.getElementById(id)) report("reference", element, `there is no ${id}`);
    }
  }

  if (!document.documentElement.lang) report("language", document, "none is said");
  if (!document.title.trim()) report("title", document, "empty");
  for (const [selector, rule] of [["main", "one-main"], ["h1", "one-h1"]]) {
    const n = document.querySelectorAll(selector).length;
    if (n !== 1) report(rule, document, n);
  }
  let level = 1;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const to = Number(heading.tagName[1]);
    if (to > level + 1) report("heading-order", heading, `after a heading of level ${level}`);
    level = to;
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption?.textContent.trim()) report("table-caption", table, "none");
    if (![...table.querySelectorAll("th")].every((head) => head.scope)) report("table-heads", table, "a head without a scope");
  }
  if (document.documentElement.scrollWidth > innerWidth) report("reflow", document, `${document.documentElement.scrollWidth} wide in ${innerWidth}`);
  return wrong;
})()
