import type { Platform } from "../../../../schema/enumerations.ts";

/** Outlines on a grid of 24. */
const PLATFORM_PATHS: Readonly<Record<Platform, string>> = {
  chatapp: "M4 5h16v11H11l-5 4v-4H4z",
  photoapp: "M4 7h4l1.5-2h5L16 7h4v12H4zM12 16a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4z",
  socialapp: "M5 4h14v16H5zM8 8h8M8 12h8M8 16h5",
};

const SUCCESS_PATH = "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM8 12.5l2.7 2.7L16 9.8";

export const platformIcon = (platform: Platform): SVGElement => icon(PLATFORM_PATHS[platform], "icon");

export const successIcon = (): SVGElement => icon(SUCCESS_PATH, "icon success");

const NAMESPACE = "http://www.w3.org/2000/svg";

/** A decorative icon: the text beside it says the same. */
function icon(outline: string, className: string): SVGElement {
  const svg = document.createElementNS(NAMESPACE, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", className);
  const path = document.createElementNS(NAMESPACE, "path");
  path.setAttribute("d", outline);
  svg.append(path);
  return svg;
}
