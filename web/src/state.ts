// What the page shows now, and how it changes. The address is the one place where it stands.
import { computed, signal } from "@preact/signals";
import type { Address } from "./address.ts";
import { formatAddress, parseAddress } from "./address.ts";
import { DARK, LIGHT } from "./flame/colours.ts";

export const address = signal<Address>(parseAddress(location.search));

window.addEventListener("popstate", () => {
  address.value = parseAddress(location.search);
});

// A step that the back button undoes; `replace`: one that it does not, such as each key typed into a search.
export function go(to: Address, replace = false): void {
  const text = formatAddress(to);
  address.value = to;
  const target = text === "" ? location.pathname : text;
  if (text === location.search) return;
  if (replace) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
}

export function change(changes: Partial<Address>, replace = false): void {
  go({ ...address.value, ...changes }, replace);
}

// For links: what a browser opens in a new tab, and shows below.
export function linkTo(to: Address): { href: string; onClick: (event: MouseEvent) => void } {
  const text = formatAddress(to);
  return {
    href: text === "" ? "./" : text,
    onClick: (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      go(to);
      window.scrollTo(0, 0);
    },
  };
}

// Light and dark: as the system says, unless the reader has chosen.
const THEME = "plimsoll.theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);
system.addEventListener("change", () => {
  systemIsDark.value = system.matches;
});

function stored(storage: () => Storage, key: string): string {
  try {
    return storage().getItem(key) ?? "";
  } catch {
    return ""; // the browser keeps nothing of this site
  }
}

function store(storage: () => Storage, key: string, value: string): void {
  try {
    if (value === "") storage().removeItem(key);
    else storage().setItem(key, value);
  } catch {
    // It is kept as long as the page is open.
  }
}

const chosenTheme = signal(stored(() => localStorage, THEME));
export const isDark = computed(() =>
  chosenTheme.value === "" ? systemIsDark.value : chosenTheme.value === "dark",
);
export const palette = computed(() => (isDark.value ? DARK : LIGHT));

export function toggleTheme(): void {
  chosenTheme.value = isDark.value ? "light" : "dark";
  store(() => localStorage, THEME, chosenTheme.value);
}

// The token: until the tab is closed.
const TOKEN = "plimsoll.token";
export const token = signal(stored(() => sessionStorage, TOKEN));
export const loginNeeded = signal<string | undefined>(undefined); // why

export function setToken(text: string): void {
  token.value = text;
  store(() => sessionStorage, TOKEN, text);
}

// A tab that is not seen asks nothing.
export const isVisible = signal(!document.hidden);
document.addEventListener("visibilitychange", () => {
  isVisible.value = !document.hidden;
});
