// What stands around every page: the name, the way to the others, light or dark.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { setTheme, useTheme, type Theme } from "../parts/theme";

export interface Way {
  href: string;
  title: string;
  here: boolean;
}

export function Frame({ ways, label, children }: { ways: Way[]; label: string; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  return (
    <div class="frame">
      {/* A link within a page cannot be had by its address, which says what view is shown. */}
      <button type="button" class="skip" onClick={() => document.querySelector("main")?.focus()}>Skip to the content</button>
      <header class="side">
        <div class="brand">
          <Mark />
          <span>Perjoule</span>
          <button type="button" class="button menu-button" aria-expanded={open} aria-controls="ways" onClick={() => setOpen(!open)}>Menu</button>
        </div>
        <nav id="ways" aria-label={label} class={open ? "ways open" : "ways"}>
          <ul>
            {ways.map((way) => (
              <li><a href={way.href} aria-current={way.here ? "page" : undefined} onClick={() => setOpen(false)}>{way.title}</a></li>
            ))}
          </ul>
          <ThemeSwitch />
        </nav>
      </header>
      <main tabIndex={-1}>{children}</main>
    </div>
  );
}

function Mark() {
  return (
    <svg width="28" height="28" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" class="mark-ground" />
      <path d="M18 4 8 18h7l-2 10 11-15h-7z" class="mark-bolt" />
    </svg>
  );
}

function ThemeSwitch() {
  const theme = useTheme();
  const options: [Theme, string][] = [["system", "Auto"], ["light", "Light"], ["dark", "Dark"]];
  return (
    <div class="switches theme-switch" role="group" aria-label="Colours">
      {options.map(([value, title]) => (
        <button type="button" aria-pressed={theme === value} onClick={() => setTheme(value)}>{title}</button>
      ))}
    </div>
  );
}

export function Heading({ title, summary, aside }: { title: string; summary?: ComponentChildren; aside?: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} – Perjoule`;
  }, [title]);
  return (
    <header class="heading">
      <div>
        <h1>{title}</h1>
        {summary && <p class="summary">{summary}</p>}
      </div>
      {aside && <div class="heading-aside">{aside}</div>}
    </header>
  );
}
