/** Returns the sum of the samples of a metric that have all labels, from the text that Prometheus reads. */
export function samples(text: string, name: string, labels: readonly string[]): number {
  const lines = text.split("\n").filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  return lines.filter((line) => labels.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
