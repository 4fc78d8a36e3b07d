// A parameter of a view as a field: its help and default come from the registry. The address changes with Enter, or when it is left.
import { useEffect, useState } from "preact/hooks";
import { valueOf, withParameters } from "../address.ts";
import type { Parameter } from "../share.ts";
import { address, go } from "../state.ts";

export function TextField({ parameter, label }: { parameter: Parameter | undefined; label?: string }) {
  const value = parameter === undefined ? "" : valueOf(address.value, parameter.name);
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  if (parameter === undefined) return null;
  const commit = (): void => {
    if (text.trim() !== value) go(withParameters(address.value, { [parameter.name]: text.trim() }));
  };
  const hint = parameter.default || parameter.placeholder;
  return (
    <label class="field short" title={parameter.help}>
      <span>{label ?? parameter.name.replaceAll("_", " ")}</span>
      <input
        type="text"
        name={parameter.name}
        spellcheck={false}
        placeholder={hint}
        size={Math.max(12, Math.min(26, hint.length))}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit();
        }}
      />
    </label>
  );
}
