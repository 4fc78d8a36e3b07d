// Axes of plots. Pure.

// Round values of a logarithmic axis from `from` to `to`: powers of ten, with 2 and 5 between them where these are few.
export function logTicks(from: number, to: number, about: number): number[] {
  const all = (factors: readonly number[]): number[] => {
    const ticks: number[] = [];
    for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); ++power) {
      for (const factor of factors) {
        const tick = Number((factor * 10 ** power).toPrecision(3));
        if (tick >= from * 0.999 && tick <= to * 1.001) ticks.push(tick);
      }
    }
    return ticks;
  };
  for (const factors of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]]) {
    const ticks = all(factors);
    if (ticks.length >= Math.min(3, about)) return thinned(ticks, about);
  }
  return thinned(all([1, 1.2, 1.5, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]), about);
}

function thinned(ticks: readonly number[], about: number): number[] {
  const every = Math.max(1, Math.ceil(ticks.length / Math.max(2, about + 2)));
  return ticks.filter((_, i) => i % every === 0);
}
