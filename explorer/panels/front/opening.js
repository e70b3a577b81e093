// Below a panel its output keeps a picture for pages in which no kernel answers: with one that
// does, the panel takes its place until it is closed.

import { make } from "./dom.js";

export function hideStill(name, signal) {
  const own = `[data-nsx-still="${CSS.escape(name)}"]`;
  const style = make("style");
  style.textContent = `${own}, .jp-OutputArea-child:has(${own}) { display: none !important; }`;
  document.head.append(style);
  signal.addEventListener("abort", () => style.remove());
}

// A page opens with a title and text above the panel. In a small window its last lines would lie
// below the edge: as long as nobody has touched the page, a panel that is seen for the most part is
// moved up until all of it is. Texts above it are set late and push it down again, so that is done
// as often as it takes; who scrolls or clicks has the page to themselves.

const MOSTLY = 0.5;

export function showWhole(root, signal) {
  if (navigator.userActivation?.hasBeenActive ?? true) return;
  if (document.querySelector(".nsx-panel, .nsx-gallery") !== root) return; // two of them would take turns
  const thresholds = Array.from({ length: 21 }, (_, k) => k / 20);
  const observer = new IntersectionObserver(
    ([...seen]) => {
      const { intersectionRatio, boundingClientRect } = seen.at(-1);
      const fits = boundingClientRect.height <= window.innerHeight;
      if (fits && intersectionRatio >= MOSTLY && intersectionRatio < 1) {
        root.scrollIntoView({ block: "nearest", inline: "nearest" });
      }
    },
    { threshold: thresholds },
  );
  observer.observe(root);
  const leave = () => observer.disconnect();
  for (const event of ["pointerdown", "keydown", "wheel", "touchstart"]) {
    window.addEventListener(event, leave, { capture: true, passive: true, once: true, signal });
  }
  signal.addEventListener("abort", leave);
}
