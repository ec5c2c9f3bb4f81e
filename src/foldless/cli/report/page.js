"use strict";
(function () {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const narrow = matchMedia("(max-width: 44rem)").matches;
  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: narrow ? false : "hover",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };

  // The colours of text and lines are the page's own, so that light, dark and paper all fit.
  function theme() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const lines = { gridcolor: colour("--grid"), linecolor: colour("--line"), tickcolor: colour("--line") };
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--ink"), family: "system-ui, sans-serif", size: 13 },
      hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--ink") },
      xaxis: lines,
      yaxis: lines,
    };
  }

  function traces(figure) {
    const ink = theme().font.color;
    return figure.data.map((trace) => {
      if (trace.type === "heatmap") return { ...trace, textfont: { color: ink } };
      return trace.type === "contour" && narrow ? { ...trace, showscale: false } : trace;
    });
  }

  function layout(figure) {
    const own = figure.layout;
    const small = narrow ? figure.narrow : {};
    const themed = theme();
    return {
      margin: { l: 58, r: 16, t: 34, b: 52 },
      ...themed,
      ...own,
      xaxis: { ...themed.xaxis, ...own.xaxis, ...small.xaxis },
      yaxis: { ...themed.yaxis, ...own.yaxis, ...small.yaxis },
    };
  }

  function draw() {
    for (const [name, figure] of Object.entries(figures)) {
      document.getElementById(name).style.height = figure.layout.height + "px"; // also on paper
      Plotly.react(name, traces(figure), layout(figure), config);
    }
  }

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("beforeprint", draw);
  matchMedia("print").addEventListener("change", draw);
  document.documentElement.dataset.drawn = "yes";
})();
