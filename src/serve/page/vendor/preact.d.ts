// Types of the parts of Preact that the page uses. Properties and nodes are not checked: templates are strings.
export function h(type: any, props: any, ...children: any[]): any;
export function render(node: any, parent: Element): void;
export function createRef(): { current: any };
export class Component {
  constructor(props?: any);
  props: any;
  state: any;
  setState(change: any, done?: () => void): void;
  forceUpdate(): void;
  render(props?: any, state?: any): any;
}
