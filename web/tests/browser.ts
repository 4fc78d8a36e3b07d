// What modules of the page ask of a browser while they are loaded; to be imported before them.
const nothing = { addEventListener: () => undefined };
Object.assign(globalThis, {
  document: { ...nothing, hidden: false },
  location: { search: "", pathname: "/" },
  window: { ...nothing, matchMedia: () => ({ ...nothing, matches: false }) },
});

export {};
