const CURRENCIES_WITHOUT_MINOR_UNIT = ["CLP", "JPY", "KRW", "PYG", "VND"];

/** Returns how many minor units make one major unit of the currency. */
export const minorUnitsPerMajor = (currency: string): 1 | 100 =>
  CURRENCIES_WITHOUT_MINOR_UNIT.includes(currency) ? 1 : 100;
