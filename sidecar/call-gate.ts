import type { SteadyClock } from "../shared/inventory/clock.ts";
import { type BudgetedCall, CallBudget } from "./call-budget.ts";
import { Circuit, type CircuitState } from "./circuit.ts";

/** What calls of STS go through. */
export interface Gate {
  /** Makes `call` when it may be made. Rejects with NotAsked, or with the reason of `unwanted`, where it never was. */
  run<T>(call: () => Promise<T>, how: BudgetedCall): Promise<T>;
}

/** Lets every call through at once. */
export const OPEN_GATE: Gate = { run: (call) => call() };

export interface CallGateOptions {
  readonly clock: SteadyClock;
  /** `reason`: why it is open; null otherwise. */
  readonly onCircuit?: (state: CircuitState, reason: string | null) => void;
}

/** One circuit and one budget for all the calls of STS that a sidecar makes for roles. */
export class CallGate implements Gate {
  readonly #circuit: Circuit;
  readonly #budget: CallBudget;

  constructor({ clock, onCircuit = () => {} }: CallGateOptions) {
    this.#budget = new CallBudget(clock);
    const onChange = (state: CircuitState): void => {
      // Who waits for a turn must not wait for an STS that is down.
      if (state === "open") this.#budget.refuseWaiting(this.#circuit.refusal());
      onCircuit(state, state === "open" ? this.#circuit.refusal().message : null);
    };
    this.#circuit = new Circuit({ clock, onChange });
  }

  get circuit(): CircuitState {
    return this.#circuit.state;
  }

  get inFlight(): number {
    return this.#budget.inFlight;
  }

  /** Those that have no turn yet. */
  get waiting(): number {
    return this.#budget.waiting;
  }

  run<T>(call: () => Promise<T>, how: BudgetedCall): Promise<T> {
    return this.#circuit.run(() => this.#budget.run(call, how));
  }
}
