/** The one of `candidates` that `text` was probably meant to be (at most a third of it differs), or null. */
export function closest(text: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(text.length / 3)) + 1;
  for (const candidate of candidates) {
    // Lengths alone differ by too much: nothing to compute, however long a stranger's text is.
    if (Math.abs(candidate.length - text.length) >= bestDistance) continue;
    const distance = editDistance(text.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Levenshtein's distance, a row of its table at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  let left = b.length;
  for (let i = 1; i <= a.length; i++) {
    let diagonal = i - 1;
    row = row.map((above, j) => {
      left = j === 0 ? i : Math.min(above + 1, left + 1, diagonal + (a[i - 1] === b[j - 1] ? 0 : 1));
      diagonal = above;
      return left;
    });
  }
  return left;
}
