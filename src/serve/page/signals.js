// Signals for Preact components: a component renders again when a signal that it read changes.
// The published integration patches Preact's internals; one wrapper is enough here.

import { Component } from "./vendor/preact.js";
import { effect, signal, computed, batch, untracked } from "./vendor/signals-core.js";

export { effect, signal, computed, batch, untracked };

/**
 * Makes a component of a function of properties, which may read signals.
 * @template {object} P
 * @param {(props: P) => any} view
 * @returns {any}
 */
export function observer(view) {
  return class extends Component {
    /** @type {undefined | (() => void)} */
    stop;

    /** @param {P} props */
    render(props) {
      this.stop?.();
      /** @type {any} */
      let output = null;
      let isFirst = true;
      this.stop = effect(() => {
        if (isFirst) {
          isFirst = false;
          output = view(props);
        } else {
          queueMicrotask(() => this.setState({}));
        }
      });
      return output;
    }

    componentWillUnmount() {
      this.stop?.();
    }
  };
}

/** @template T @typedef {import("./vendor/signals-core.js").Signal<T>} Signal */
