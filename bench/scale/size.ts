/** The number of objects of each kind in the folder. Each object is in a file of its own. */
export const NAMESPACES = 5_000;
/** Two for each namespace. */
export const SELECTORS = 10_000;
/** Ten for each namespace. */
export const RESOURCES = 50_000;
