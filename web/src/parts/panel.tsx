// Frames that views share: a titled panel, notes, an error in words, an empty place that says why it is empty.
import type { ComponentChildren } from "preact";
import type { Refusal } from "../data/ask";

export function Panel(props: { title?: string; aside?: ComponentChildren; children: ComponentChildren; wide?: boolean }) {
  return (
    <section class={props.wide ? "panel wide" : "panel"}>
      {(props.title || props.aside) && (
        <header class="panel-head">
          {props.title && <h2 class="title">{props.title}</h2>}
          {props.aside && <div class="panel-aside">{props.aside}</div>}
        </header>
      )}
      {props.children}
    </section>
  );
}

export function ErrorBox({ error }: { error: Refusal }) {
  return (
    <div class="notice notice-error" role="alert">
      <strong><span aria-hidden="true">✕</span> {sentence(error.message)}</strong>
      {error.remedy ? <p>What to do: {error.remedy}</p> : null}
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="notice">{children}</div>;
}

export function Loading({ what }: { what: string }) {
  return <div class="notice loading" role="status">Loading {what} …</div>;
}

export function Notes({ notes, title = "Notes" }: { notes: string[] | undefined; title?: string }) {
  if (!notes || notes.length === 0) return null;
  return (
    <details class="notes" open={notes.length < 4}>
      <summary>{title} ({notes.length})</summary>
      <ul>{notes.map((note) => <li>{note}</li>)}</ul>
    </details>
  );
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function Choice<Value extends string>(props: { label: string; value: Value; options: { value: Value; title: string }[]; onChange(value: Value): void }) {
  return (
    <label class="field">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value as Value)}>
        {props.options.map((option) => <option value={option.value}>{option.title}</option>)}
      </select>
    </label>
  );
}

/** A few choices side by side, of which one holds. */
export function Switches<Value extends string | number>(props: { label: string; value: Value; options: { value: Value; title: string }[]; onChange(value: NoInfer<Value>): void }) {
  return (
    <div class="switches" role="group" aria-label={props.label}>
      {props.options.map((option) => (
        <button type="button" aria-pressed={option.value === props.value} onClick={() => props.onChange(option.value)}>{option.title}</button>
      ))}
    </div>
  );
}
