"use strict";
(function () {
  const data = JSON.parse(document.getElementById("page-data").textContent);

  // Notes under the pointer, as text: they may hold names from the file.
  const tip = document.getElementById("tip");
  function showTip(event) {
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const width = tip.offsetWidth, height = tip.offsetHeight;
    const left = Math.max(4, Math.min(event.clientX + 12, innerWidth - width - 4));
    const top = event.clientY - height - 12 > 0 ? event.clientY - height - 12 : event.clientY + 18;
    tip.style.left = left + "px";
    tip.style.top = top + "px";
  }
  addEventListener("pointermove", showTip);
  addEventListener("pointerdown", showTip);
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // Downloads: a file is made from the page's own text.
  for (const button of document.querySelectorAll("button[data-file]")) {
    button.addEventListener("click", () => {
      const [kind, content] = data.files[button.dataset.file];
      const address = URL.createObjectURL(new Blob([content], { type: kind + ";charset=utf-8" }));
      const link = document.createElement("a");
      link.href = address;
      link.download = button.dataset.file;
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
    });
  }

  // The threshold with the least expected cost, and what it does on unseen rows.
  const costs = document.querySelector(".costs");
  if (costs && data.costs) {
    const miss = document.getElementById("miss"), alarm = document.getElementById("alarm");
    const answer = document.getElementById("costs-answer");
    const update = () => {
      const m = Number(miss.value), a = Number(alarm.value);
      if (!(m >= 0 && a >= 0 && m + a > 0)) {
        answer.textContent = "Give two costs that are not negative.";
        return;
      }
      const positives = data.costs.n_positive, negatives = data.costs.n_negative;
      const below = (sorted, t) => sorted.filter((p) => p < t).length / Math.max(1, sorted.length);
      const missed = (t) => Math.round(positives * below(data.costs.positive, t));
      const alarms = (t) => negatives - Math.round(negatives * below(data.costs.negative, t));
      const cost = (t) => (m * missed(t) + a * alarms(t)) / (positives + negatives);
      const t = a / (m + a);
      answer.textContent = "Threshold " + t.toFixed(2) + ": " + missed(t) + " of " + positives + " missed, " +
        alarms(t) + " of " + negatives + " false alarms; cost per row " + cost(t).toPrecision(3) + ", " +
        cost(0.5).toPrecision(3) + " with the threshold 0.50.";
    };
    miss.addEventListener("input", update);
    alarm.addEventListener("input", update);
    costs.hidden = false;
    update();
  }
  document.documentElement.dataset.ready = "yes";
})();
