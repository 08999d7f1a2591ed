/** The texts of the overview. */
export const overviewTexts = {
  title: "Overview",
};
