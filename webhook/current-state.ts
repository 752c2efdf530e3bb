import type { KindFilter } from "../shared/formats/object-meta.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { kindOf } from "../shared/kinds.ts";
import type { ReviewContext } from "./review.ts";

/**
 * Throws ERR_INVENTORY_STALE unless the inventory contains every change of the basic kinds and of the types up to 5 s
 * ago. Returns whether the API server was asked, so that what the review has read before may be outdated.
 */
export async function requireCurrent(
  isNeeded: KindFilter, { source, remainingMs }: Pick<ReviewContext, "source" | "remainingMs">,
): Promise<boolean> {
  const isRead: KindFilter = (type) => kindOf({ ...type, name: "" })?.isBasic === true || isNeeded(type);
  const { fault, hasAsked } = await source.prove(isRead, remainingMs());
  if (fault === null) return hasAsked;
  throw new ResolverError(
    "ERR_INVENTORY_STALE",
    `This replica may not know the latest changes of the cluster: ${fault}. Retry in a moment.`,
  );
}
