// A press beside a curve, or an arrow key, chooses a point; what its threshold does is said below the picture.
function listenToCurves(picture) {
  const said = picture.parentElement.querySelector("output");
  const points = [...picture.querySelectorAll(".point")];
  const chosen = () => points.findLastIndex((each) => each.matches(".chosen"));
  const choose = (place) => {
    const point = points[Math.min(Math.max(place, 0), points.length - 1)];
    points.forEach((each) => each.classList.toggle("chosen", each === point));
    said.textContent = point.textContent;
  };
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -points.length, End: points.length };
  picture.tabIndex = 0;
  picture.addEventListener("keydown", (event) => {
    if (!steps[event.key]) return;
    event.preventDefault();
    choose(chosen() + steps[event.key]);
  });
  picture.addEventListener("click", (event) => {
    const far = (each) => {
      const box = each.getBoundingClientRect();
      return Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
    };
    choose(points.indexOf(points.reduce((best, each) => (far(each) < far(best) ? each : best))));
  });
  choose(chosen() < 0 ? points.length : chosen());
}

document.querySelectorAll(".risk").forEach(listenToCurves);
