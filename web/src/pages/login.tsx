// Where the server asks for a token.
import { useState } from "preact/hooks";
import { registry } from "../api.ts";
import { visible } from "../format.ts";
import { loginNeeded, setToken } from "../state.ts";

export function Login() {
  const [text, setText] = useState("");
  const why = loginNeeded.value ?? "";
  return (
    <main class="login">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setToken(text.trim());
          loginNeeded.value = undefined;
          registry.ask("registry", true);
        }}
      >
        <h1>This server requires a token</h1>
        <label class="field">
          <span>Token</span>
          <input
            type="password"
            name="token"
            autocomplete="current-password"
            required
            value={text}
            aria-invalid={why !== ""}
            onInput={(event) => setText(event.currentTarget.value)}
            autofocus
          />
        </label>
        {why === "" ? null : (
          <p class="wrong" role="alert">
            {visible(why)}
          </p>
        )}
        <button type="submit" class="primary">
          Sign in
        </button>
        <p class="hint">
          A token of role read is enough. An administrator makes one with{" "}
          <code>plimsoll token --name NAME --role read</code>. This tab keeps it until it is closed.
        </p>
      </form>
    </main>
  );
}
