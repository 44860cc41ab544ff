// A document that is not what its schema says must not take the page with it: it is shown as it is.
import { Component, type ComponentChildren } from "preact";

interface Props {
  children: ComponentChildren;
  otherwise(error: Error): ComponentChildren;
}

export class Guard extends Component<Props, { error: Error | null }> {
  override state = { error: null as Error | null };

  static override getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    return this.state.error ? this.props.otherwise(this.state.error) : this.props.children;
  }
}
