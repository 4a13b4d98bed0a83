// What a link or the print leads to is opened.
function openTo(id) {
  const target = id && document.getElementById(id);
  if (!target) return;
  const inside = [...target.querySelectorAll(":scope > details, .beneath details")].slice(0, 1);
  const beneath = target.nextElementSibling?.matches?.(".beneath") ? [...target.nextElementSibling.querySelectorAll("details")] : [];
  for (let one = target.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  (target.matches("section") ? inside : beneath).forEach((one) => (one.open = true));
  target.scrollIntoView({ block: "start" });
}

// A press anywhere on a row opens what lies beneath it, as its summary does.
function listenToRows() {
  document.addEventListener("click", (event) => {
    const beneath = event.target.closest("tr")?.nextElementSibling;
    if (!beneath?.matches(".beneath") || event.target.closest("a, summary") || String(getSelection())) return;
    const inside = beneath.querySelector("details");
    inside.open = !inside.open;
  });
}

function listenToFolds() {
  const follow = () => openTo(decodeURIComponent(location.hash.slice(1)));
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) follow();
  });
  follow();
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((one) => (one.open = true));
  });
  window.addEventListener("afterprint", () => closed.forEach((one) => (one.open = false)));
}

listenToFolds();
listenToRows();
