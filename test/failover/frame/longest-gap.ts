interface Period {
  from: number;
  to: number;
}

/** The longest time in the period without any of these times. */
export function longestGap(times: readonly number[], { from, to }: Period): number {
  const inside = times.filter((time) => time > from && time < to).sort((one, other) => one - other);
  return Math.max(...[...inside, to].map((time, index) => time - (inside[index - 1] ?? from)));
}
