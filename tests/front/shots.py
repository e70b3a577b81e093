"""Screenshots of the panel: ``python tests/front/shots.py FOLDER``; to be looked at."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from fake import Ball
from stage import Stage, chromium

JUPYTER_DARK = """() => { document.body.setAttribute("data-jp-theme-light", "false");
  const s = document.body.style;
  for (const [k, v] of Object.entries({"ui-font-color1": "rgba(255,255,255,0.87)",
    "ui-font-color2": "rgba(255,255,255,0.6)", "border-color1": "#616161",
    "border-color2": "#424242", "layout-color0": "#111", "layout-color2": "#424242"}))
    s.setProperty("--jp-" + k, v); }"""


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for name, width, height in [("light", 1280, 720), ("lab", 960, 620), ("phone", 390, 844)]:
            stage = Stage(browser.new_page(viewport={"width": width, "height": height}), Ball())
            stage.open()
            stage.js("() => document.querySelector('.nsx-table tbody tr:nth-child(2)')?.click()")
            stage.page.screenshot(path=folder / f"{name}.png", full_page=name == "phone")
            if name == "light":
                stage.page.click("[data-action=pin]")
                stage.page.locator("input[type=range][data-key=e]").focus()
                for _ in range(8):
                    stage.page.keyboard.press("ArrowRight")
                stage.page.fill("input[type=text][data-key=h]", "1,,5")
                stage.page.keyboard.press("Enter")
                stage.drawn()
                stage.page.screenshot(path=folder / "error.png")
                stage.page.locator("input[type=range][data-key=v]").press("ArrowRight")
                stage.drawn()
                stage.js(JUPYTER_DARK)
                stage.page.click(".nsx-menu summary")
                stage.page.wait_for_timeout(300)
                stage.page.screenshot(path=folder / "dark.png")
            for error in stage.errors:
                sys.stderr.write(error + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
