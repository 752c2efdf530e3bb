/** A large cluster. */
export const SELECTOR_COUNT = 10_000;
export const NAMESPACE_COUNT = 5_000;
export const RESOURCE_KINDS = 20;
export const RESOURCES_PER_KIND = 5_000;
