/**
 * A claimed row counts a death when its worker dies, because the row may be the cause. With SUSPECT_DEATHS it is
 * a suspect and processed alone, so that other rows do not share its deaths. With MAX_DEATHS it is quarantined
 * and no longer processed.
 */
export const SUSPECT_DEATHS = 2;
export const MAX_DEATHS = 5;

/** SQL with literals: with parameters Postgres would not use the partial indexes of suspects. */
export const IS_SUSPECT = `deaths >= ${SUSPECT_DEATHS}`;
export const IS_NOT_SUSPECT = `deaths < ${SUSPECT_DEATHS}`;
export const IS_QUARANTINED = `deaths >= ${MAX_DEATHS}`;
export const IS_NOT_QUARANTINED = `deaths < ${MAX_DEATHS}`;
