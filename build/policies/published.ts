import { compareText } from "../../shared/formats/text.ts";
import type { Published } from "./assemble.ts";
import type { Controller } from "./checkout.ts";
import type { Reference } from "./reference.ts";
import type { Reviewed } from "./reviewed.ts";
import { serviceOf } from "./statements.ts";

/** Returns what the checkout and the reference of AWS say of a controller. */
export function publishedOf(
  { date, commit, calls, policies }: Controller, { services }: Reviewed, reference: Reference,
): Published {
  const isOwn = (action: string): boolean => services.includes(serviceOf(action));
  const needed = calls.map((call) => {
    const actions = reference.actionsOf(services, call);
    return { call, own: actions.filter(isOwn), dependent: actions.filter((action) => !isOwn(action)) };
  });
  const recommended = policies.flatMap(({ statements }) => statements.flatMap((one) => one.actions));
  const inline = policies.filter(({ name }) => name === "recommended-inline-policy")
    .flatMap(({ statements }) => statements.flatMap((one) => one.actions));
  const demands = needed.flatMap(({ call, dependent }) => dependent.map((action) => ({ action, call })));
  const byAction = Map.groupBy(demands, ({ action }) => action);
  const dependent = Array.from(byAction, ([action, rows]) => [action, sorted(rows.map(({ call }) => call))] as const);
  return {
    date, commit, calls: sorted(calls), recommended: sorted(recommended.filter(isOwn)),
    called: sorted(needed.flatMap(({ own }) => own)),
    inline: sorted(inline.filter((action) => !isOwn(action))),
    dependent: Object.fromEntries(dependent.toSorted(([a], [b]) => compareText(a, b))),
  };
}

function sorted(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].toSorted(compareText);
}
