/** The version of the interface: on every reply, and in every event. */
export const API_VERSION = "2026-11-01";
