// The slider shows one threshold after the other; without this program the first one stands alone.
function listenToThresholds(root) {
  if (!root) return;
  const slider = root.querySelector("input");
  const said = root.querySelector("output");
  const parts = [...root.querySelectorAll("[data-place]")];
  const show = () => {
    parts.forEach((part) => part.classList.toggle("shown", part.dataset.place === slider.value));
    said.textContent = root.querySelector(".at-threshold.shown").dataset.label;
    slider.setAttribute("aria-valuetext", said.textContent);
  };
  slider.addEventListener("input", show);
  slider.closest(".slider").hidden = false;
  show();
}

listenToThresholds(document.getElementById("thresholds"));
