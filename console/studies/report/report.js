(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const drawn = [];
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
  const paint = (isDark) => drawn.forEach((plot) => Plotly.relayout(plot, look(isDark)));
  document.querySelectorAll("script[data-plot]").forEach((spec) => {
    const plot = document.getElementById(spec.dataset.plot);
    const { data, layout } = JSON.parse(spec.textContent);
    const config = { responsive: true, displaylogo: false, toImageButtonOptions: { format: "svg", filename: plot.id } };
    // The caption holds the title, because a title inside the picture does not wrap.
    const shown = { ...layout, title: null, margin: { ...layout.margin, t: 32 }, autosize: true };
    Plotly.newPlot(plot, data, shown, config).then(() => {
      drawn.push(plot);
      Plotly.relayout(plot, look(dark.matches));
    });
  });
  dark.addEventListener("change", () => paint(dark.matches));
  // The printed page is 182 mm wide between its margins, whatever the window is.
  const PRINTED = 680;
  addEventListener("beforeprint", () => {
    paint(false);
    drawn.forEach((plot) => Plotly.relayout(plot, { width: PRINTED, autosize: false }));
  });
  addEventListener("afterprint", () => {
    paint(dark.matches);
    drawn.forEach((plot) => Plotly.relayout(plot, { width: null, autosize: true }));
  });
})();
