// Reads the values of a picture from the table behind it, at the pointer or by keys.
(() => {
  "use strict";
  const reading = document.getElementById("reading");

  for (const plot of document.querySelectorAll(".plot")) {
    const figure = plot.closest("figure");
    const heads = [...figure.querySelectorAll("thead th")].map((head) => head.textContent);
    const rows = [...figure.querySelectorAll("tr[data-at]")];
    const places = rows.map((row) => Number(row.dataset.at) / 1000);
    let shown = -1;
    let rule = null;
    let tip = null;

    const values = (row) =>
      [...row.children].map((cell, i) => [heads[i], cell.textContent]).filter(([, value], i) => i === 0 || value !== "");

    const hide = () => {
      shown = -1;
      rule?.remove();
      tip?.remove();
      rule = tip = null;
    };

    const show = (at) => {
      if (at === shown || rows.length === 0) return;
      if (!rule) {
        rule = plot.appendChild(document.createElement("div"));
        rule.className = "rule";
        tip = plot.appendChild(document.createElement("div"));
        tip.className = "tip";
      }
      shown = at;
      const [first, ...others] = values(rows[at]);
      tip.textContent = [first[1], ...others.map(([name, value]) => `${name}: ${value}`)].join("\n");
      const width = plot.querySelector("svg").getBoundingClientRect().width;
      const x = places[at] * width;
      rule.style.left = `${x}px`;
      tip.style.left = `${x < width / 2 ? x + 10 : Math.max(0, x - 10 - tip.offsetWidth)}px`;
    };

    const nearest = (place) => {
      let best = 0;
      for (let i = 1; i < places.length; i++) {
        if (Math.abs(places[i] - place) < Math.abs(places[best] - place)) best = i;
      }
      return best;
    };

    plot.addEventListener("pointermove", (event) => {
      const box = plot.querySelector("svg").getBoundingClientRect();
      show(nearest((event.clientX - box.left) / box.width));
    });
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      const last = rows.length - 1;
      const to = { ArrowLeft: shown - 1, ArrowRight: shown + 1, Home: 0, End: last }[event.key];
      if (event.key === "Escape") hide();
      if (to === undefined || last < 0) return;
      event.preventDefault();
      show(Math.min(Math.max(to, 0), last));
      reading.textContent = values(rows[shown]).map(([name, value]) => `${name} ${value}`).join(", ");
    });
  }
})();
