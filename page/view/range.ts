interface Scrolled {
  /** The position of the viewport, and its size, in pixels. */
  readonly position: number;
  readonly viewport: number;
  /** The size of an item, in pixels. */
  readonly size: number;
  readonly count: number;
}

/** Returns the first item that is visible and the one after the last, with a few items on both sides. */
export function visibleRange({ position, viewport, size, count }: Scrolled, margin: number): readonly [number, number] {
  const first = Math.max(0, Math.floor(position / size) - margin);
  const last = Math.min(count, Math.ceil((position + viewport) / size) + margin);
  return [Math.min(first, last), last];
}
