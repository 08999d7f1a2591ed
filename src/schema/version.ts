/** The API version: a header of every reply and a field of every event. */
export const API_VERSION = "2026-11-01";
