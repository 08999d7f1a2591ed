/** Each process of a local cluster has a fixed port after METRICS_PORT, so that scrapes need not look for it. */
const METRICS_PORT_OFFSETS: Readonly<Record<string, number>> = { web: 0, dispatcher: 1, scheduler: 2 };

/** The settings of one process: METRICS_PORT moved by its offset; a wrong value stays, so that the process reports it. */
export function withMetricsPort(
  settings: Record<string, string>,
  processName: string,
): Record<string, string> {
  const port = Number(settings.METRICS_PORT);
  const offset = METRICS_PORT_OFFSETS[processName];
  if (!Number.isInteger(port) || port <= 0 || offset === undefined) return settings;
  return { ...settings, METRICS_PORT: String(port + offset) };
}
