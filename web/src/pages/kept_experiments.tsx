// Experiments that the server keeps for all its users: their list, and one of them against what is shown.
import { useState } from "preact/hooks";
import type { Table } from "../api.ts";
import { ApiError, changeOnServer } from "../api.ts";
import { valueOf, withParameters } from "../address.ts";
import type { Kept } from "../experiment.ts";
import { definitionOf, keptOf, NAME, pathOf, saysTheSame } from "../experiment.ts";
import { clipped } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { REFRESH_MS } from "../parts/panel.tsx";
import { Failure, Shown } from "../parts/status.tsx";
import type { Parameter } from "../share.ts";
import { address, go, linkTo } from "../state.ts";

const LIST = { page: "experiments", sort: "", find: "", zoom: "", parameters: new Map() } as const;

function addressOf(kept: Kept) {
  return withParameters({ ...address.value, ...LIST }, kept.parameters);
}

// A change of what the server keeps: none is sent while one is under way.
function useChange(done: () => void): {
  error: ApiError | undefined;
  isSending: boolean;
  send: (change: () => Promise<Table>, then?: (table: Table) => void) => void;
} {
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [isSending, setSending] = useState(false);
  const send = (change: () => Promise<Table>, then?: (table: Table) => void): void => {
    if (isSending) return;
    setSending(true);
    setError(undefined);
    change()
      .then(
        (table) => then?.(table),
        (failed: unknown) =>
          setError(failed instanceof ApiError ? failed : new ApiError(0, String(failed), "", "")),
      )
      .finally(() => {
        setSending(false);
        done();
      });
  };
  return { error, isSending, send };
}

// Asks once more: it is withdrawn for everyone.
function Withdraw({ name, isSending, send }: { name: string; isSending: boolean; send: () => void }) {
  const [isAsking, setAsking] = useState(false);
  return (
    <button
      type="button"
      class="quiet"
      disabled={isSending}
      aria-label={`${isAsking ? "Withdraw for all users" : "Withdraw"}: ${clipped(name, 60)}`}
      onClick={() => {
        setAsking(!isAsking);
        if (isAsking) send();
      }}
    >
      {isAsking ? "Withdraw for all users" : "Withdraw"}
    </button>
  );
}

export function KeptList() {
  const asked = useAnswer<Table>("experiments", [], REFRESH_MS);
  const { error, isSending, send } = useChange(asked.again);
  return (
    <>
      {error === undefined ? null : <Failure error={error} />}
      <Shown {...asked} placeholder={<div class="placeholder" />}>
        {(table) => {
          const list = keptOf(table.rows);
          return list.length === 0 ? (
            <p class="hint">
              None yet. Define one here or with <code>plimsoll experiment define</code>, open its file, or
              follow a link that was sent to you.
            </p>
          ) : (
            <ul class="experiment-list">
              {list.map((kept) => (
                <li key={kept.name}>
                  <a {...linkTo(addressOf(kept))}>{clipped(kept.name, 120)}</a>
                  <span class="hint">
                    {clipped(kept.state, 20)}
                    {kept.owner === "" ? "" : `, ${clipped(kept.owner, 60)}`}
                  </span>
                  <Withdraw
                    name={kept.name}
                    isSending={isSending}
                    send={() => send(() => changeOnServer("DELETE", pathOf(kept.name), {}))}
                  />
                </li>
              ))}
            </ul>
          );
        }}
      </Shown>
    </>
  );
}

// Whether the server keeps the experiment that the address says, and what can be done about it.
export function KeptDefinition({ taken }: { taken: readonly Parameter[] }) {
  const asked = useAnswer<Table>("experiments", []);
  const { error, isSending, send } = useChange(asked.again);
  const name = valueOf(address.value, NAME);
  const definition = definitionOf(address.value, taken, Date.now());
  const { value: table, error: failed } = asked.answer;
  if (table === undefined) {
    return failed === undefined ? (
      <section class="kept-definition" aria-label="On the server" aria-busy="true" />
    ) : (
      <Failure error={failed} again={asked.again} />
    );
  }
  const kept = keptOf(table.rows).find((one) => one.name === name);
  const isSame = kept !== undefined && saysTheSame(kept, definition);
  // Times that moved with the clock are fixed from then on.
  const show = (answer: Table): void => {
    const [defined] = keptOf(answer.rows);
    if (defined !== undefined) go(addressOf(defined), true);
  };
  return (
    <section class="kept-definition" aria-label="On the server">
      <p class="hint">
        {kept === undefined
          ? "Not defined on the server: only those see it who have its link or file."
          : isSame
            ? `Defined on the server${kept.owner === "" ? "" : ` by ${clipped(kept.owner, 60)}`}.`
            : "The server has another definition of this name."}
      </p>
      {isSame ? (
        <Withdraw
          key={name}
          name={name}
          isSending={isSending}
          send={() => send(() => changeOnServer("DELETE", pathOf(name), {}))}
        />
      ) : (
        <button
          type="button"
          disabled={isSending}
          onClick={() => send(() => changeOnServer("PUT", pathOf(name), definition), show)}
        >
          {kept === undefined ? "Define on the server" : "Change on the server"}
        </button>
      )}
      {error === undefined ? null : <Failure error={error} />}
    </section>
  );
}
