(async () => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // The printed page is 182 mm wide between its margins, whatever the window is.
  const PRINTED = 680;
  const look = (isDark) => {
    const line = isDark ? "#2c3440" : "#e3e8ee";
    const axes = (axis) => ({ [`${axis}.gridcolor`]: line, [`${axis}.linecolor`]: line });
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      "font.color": isDark ? "#e4e8ee" : "#1b2430",
      ...axes("xaxis"),
      ...axes("yaxis"),
    };
  };
  const put = (layout, changes) => {
    Object.entries(changes).forEach(([path, value]) => {
      const [owner, name] = path.split(".");
      layout[owner] = name ? { ...layout[owner], [name]: value } : value;
    });
    return layout;
  };
  const specs = new Map();
  document.querySelectorAll("script[data-plot]").forEach((spec) => {
    specs.set(document.getElementById(spec.dataset.plot), spec);
  });
  const load = async () => {
    const packed = document.getElementById("plotly").textContent;
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const script = document.createElement("script");
    script.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
    document.body.append(script);
  };
  const drawn = [];
  const draw = (plot) => {
    const spec = specs.get(plot);
    if (!spec || !specs.delete(plot)) return;
    const { data, layout } = JSON.parse(spec.textContent);
    const config = { responsive: true, displaylogo: false, toImageButtonOptions: { format: "svg", filename: plot.id } };
    // The caption holds the title, because a title inside the picture does not wrap.
    const shown = put({ ...layout, title: null, autosize: true }, { "margin.t": 32, ...look(dark.matches) });
    Plotly.newPlot(plot, data, shown, config);
    drawn.push(plot);
  };
  const paint = (isDark) => drawn.forEach((plot) => Plotly.relayout(plot, look(isDark)));
  await load();
  // A chart takes up to a second to draw, so each is drawn shortly before it comes into view.
  const near = new IntersectionObserver(
    (seen) => seen.filter((one) => one.isIntersecting).forEach((one) => draw(one.target)),
    { rootMargin: "600px" },
  );
  [...specs.keys()].forEach((plot) => near.observe(plot));
  dark.addEventListener("change", () => paint(dark.matches));
  addEventListener("beforeprint", () => {
    [...specs.keys()].forEach(draw);
    paint(false);
    drawn.forEach((plot) => Plotly.relayout(plot, { width: PRINTED, autosize: false }));
  });
  addEventListener("afterprint", () => {
    paint(dark.matches);
    drawn.forEach((plot) => Plotly.relayout(plot, { width: null, autosize: true }));
  });
})();
