import { texts } from "../texts.ts";

/** The document links its icon, whose name contains a hash. */
const LOGO = document.querySelector<HTMLLinkElement>("link[rel=icon]")?.href;

/** The product's logo and name. */
export const Brand = () => (
  <>
    <img src={LOGO} alt="" width="28" height="28" />
    <span>{texts.product}</span>
  </>
);
