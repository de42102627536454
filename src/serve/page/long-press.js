// Long presses of a finger. Not every browser sends a context menu event for them.

const PRESS_MS = 480;
/** Movement of a finger that is still a press. */
const SLACK_PIXELS = 10;

/** @type {number | undefined} */
let timer;
let [x, y] = [0, 0];
/** True after a long press, until the click that follows it. */
let isHandled = false;

const cancel = () => clearTimeout(timer);

/**
 * Handlers of an element that opens a menu by a long press.
 * @param {(place: {clientX: number, clientY: number}) => void} open
 */
export function pressHandlers(open) {
  return {
    onTouchStart: (/** @type {TouchEvent} */ event) => {
      cancel();
      isHandled = false;
      if (event.touches.length > 1) return;
      const { clientX, clientY } = event.touches[0];
      [x, y] = [clientX, clientY];
      timer = window.setTimeout(() => {
        isHandled = true;
        open({ clientX, clientY });
      }, PRESS_MS);
    },
    onTouchMove: (/** @type {TouchEvent} */ { touches: [touch] }) => {
      if (Math.hypot(touch.clientX - x, touch.clientY - y) > SLACK_PIXELS) cancel();
    },
    onTouchCancel: cancel,
    onTouchEnd: (/** @type {TouchEvent} */ event) => {
      cancel();
      // The release of a long press is no click.
      if (isHandled) event.preventDefault();
    },
  };
}

/** True while a long press is the reason of a context menu event. */
export const isPressed = () => isHandled;
