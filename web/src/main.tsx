import { render } from "preact";
import { useEffect } from "preact/hooks";
import type { PageName } from "./address.ts";
import { SELECTION, withParameters } from "./address.ts";
import { isReached, registry } from "./api.ts";
import { Diff } from "./pages/diff.tsx";
import { Experiments } from "./pages/experiments.tsx";
import { Explore } from "./pages/explore.tsx";
import { Fleet } from "./pages/fleet.tsx";
import { FunctionPage } from "./pages/function.tsx";
import { Hardware } from "./pages/hardware.tsx";
import { Health } from "./pages/health.tsx";
import { Login } from "./pages/login.tsx";
import { PlacementPage } from "./pages/placement.tsx";
import { Views } from "./pages/views.tsx";
import { WithProfiles } from "./pages/with_profiles.tsx";
import { Failure } from "./parts/status.tsx";
import { address, isDark, isVisible, linkTo, loginNeeded, setToken, toggleTheme, token } from "./state.ts";
import "./styles/page.css";
import "./styles/function.css";
import "./styles/health.css";

const TITLES: readonly [PageName, string][] = [
  ["fleet", "Fleet"],
  ["explore", "Explore"],
  ["function", "Function"],
  ["diff", "Diff"],
  ["hardware", "Hardware"],
  ["placement", "Placement"],
  ["experiments", "Experiments"],
  ["views", "Views"],
  ["health", "Health"],
];

// Their questions have times and filters of their own.
const ASKS_ITSELF: readonly PageName[] = ["views", "experiments"];

function linkToPage(page: PageName) {
  if (page === "fleet")
    return linkTo({
      ...address.value,
      page,
      view: "",
      show: "table",
      sized: "",
      sort: "",
      zoom: "",
      find: "",
      parameters: new Map(),
    });
  const kept = new Map([...address.value.parameters].filter(([name]) => SELECTION.includes(name)));
  // Who comes from the start page has seen the last hour there.
  const since =
    address.value.page === "fleet" && !kept.has("since") && !ASKS_ITSELF.includes(page)
      ? { since: "1h" }
      : {};
  return linkTo(
    withParameters(
      {
        ...address.value,
        page,
        view: "",
        show: "table",
        sized: "",
        sort: "",
        find: "",
        parameters: ASKS_ITSELF.includes(page) ? new Map() : kept,
      },
      since,
    ),
  );
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <circle cx="16" cy="16" r="9.5" />
      <path d="M2 16h28" />
    </svg>
  );
}

function Content({ page }: { page: PageName }) {
  switch (page) {
    case "explore":
      return <Explore />;
    case "function":
      return <FunctionPage />;
    case "diff":
      return <Diff />;
    case "hardware":
      return <Hardware />;
    case "placement":
      return <PlacementPage />;
    case "experiments":
      return <Experiments />;
    default:
      return <Fleet />;
  }
}

function Page() {
  const { page } = address.value;
  useEffect(() => {
    const title = TITLES.find(([name]) => name === page)?.[1] ?? "";
    document.title = `${title} \u00b7 Plimsoll`;
    // In a narrow window not all pages are seen at once.
    document
      .querySelector(".top nav [aria-current]")
      ?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }, [page]);
  useEffect(() => {
    document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light";
  }, [isDark.value]);
  useEffect(() => {
    if (isVisible.value) registry.ask("registry");
  }, [isVisible.value]);
  if (loginNeeded.value !== undefined) return <Login />;
  const { state, value, error } = registry.answer.value;
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" {...linkToPage("fleet")} aria-label="Plimsoll: start page">
          <Mark />
          <span>Plimsoll</span>
        </a>
        <nav aria-label="Pages">
          {TITLES.map(([name, title]) => (
            <a key={name} {...linkToPage(name)} aria-current={name === page ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <div class="corner">
          <button
            type="button"
            class="quiet"
            aria-label={isDark.value ? "Switch to light colours" : "Switch to dark colours"}
            onClick={toggleTheme}
          >
            {isDark.value ? "Light" : "Dark"}
          </button>
          {token.value === "" ? null : (
            <button
              type="button"
              class="quiet"
              onClick={() => {
                setToken("");
                loginNeeded.value = "";
              }}
            >
              Sign out
            </button>
          )}
        </div>
      </header>
      {isReached.value ? null : (
        <p class="away" role="alert">
          The server does not answer. It is asked again every few seconds; what is shown is what it said last.
        </p>
      )}
      <main id="main" tabIndex={-1}>
        {value === undefined ? (
          state === "failed" && error !== undefined ? (
            <Failure error={error} again={() => registry.ask("registry", true)} />
          ) : (
            <div class="placeholder tall" />
          )
        ) : page === "views" ? (
          <Views />
        ) : page === "health" ? (
          <Health />
        ) : (
          <WithProfiles>
            <Content page={page} />
          </WithProfiles>
        )}
      </main>
      <footer>
        <span>Plimsoll {value?.version ?? ""}</span>
        <span>Margins are half of a 95 % confidence interval.</span>
      </footer>
    </>
  );
}

document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light";
render(<Page />, document.getElementById("page")!);
