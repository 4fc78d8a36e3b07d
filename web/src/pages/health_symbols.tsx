// Binaries without symbols: what each costs in names, and what helps.
import type { Table } from "../api.ts";
import { useState } from "preact/hooks";
import { clipped, share } from "../format.ts";
import { helpFor } from "../health.ts";
import { useAnswer } from "../hooks.ts";
import { copied } from "../parts/copy_menu.tsx";
import { PanelHeading, REFRESH_MS, exploring } from "../parts/panel.tsx";
import { Shown } from "../parts/status.tsx";

const LAST_DAY = [
  ["since", "1d"],
  ["limit", "1"],
  ["margins", "no"],
] as const;
const ANY_EVENT = [
  ["of", "event"],
  ["limit", "1"],
] as const;

export function Unsymbolized() {
  // Unlike other views this one has an answer before the first profile.
  const events = useAnswer<Table>("values", ANY_EVENT, 2 * REFRESH_MS);
  const isEmpty = (events.answer.value?.rows.length ?? 0) === 0;
  const asked = useAnswer<Table>("top", isEmpty ? undefined : LAST_DAY, 2 * REFRESH_MS);
  return (
    <section class="panel" aria-labelledby="symbols">
      <PanelHeading
        id="symbols"
        text="Binaries without symbols"
        to={exploring({ since: "1d", by: "binary,function", where: ["function=~^\\[no symbol in"] })}
        more="Their samples"
      />
      {isEmpty && events.answer.state === "ready" ? (
        <p class="hint">No profiles yet.</p>
      ) : (
        <Binaries asked={isEmpty ? events : asked} />
      )}
    </section>
  );
}

function Binaries({ asked }: { asked: ReturnType<typeof useAnswer<Table>> }) {
  return (
    <Shown {...asked} placeholder={<div class="placeholder" />}>
      {({ coverage }) => {
        const binaries = coverage.unsymbolized_by.filter((binary) => binary.share > 0);
        if (coverage.samples === 0) return <p class="hint">No profiles of the last day.</p>;
        if (binaries.length === 0) return <p class="fine">None: all samples of the last day have names.</p>;
        const largest = Math.max(...binaries.map((binary) => binary.share));
        return (
          <>
            <p class="hint">
              {share(coverage.unsymbolized_share)} of the last day{"\u2019"}s samples have no function name.
              The first binary would name most.
            </p>
            <ol class="unsymbolized">
              {binaries.map((binary) => (
                <li key={`${binary.binary} ${binary.build_id}`}>
                  <span class="value">
                    <span class="bar" aria-hidden="true">
                      <span class="length" style={{ width: `${(binary.share / largest) * 100}%` }} />
                    </span>
                    <span class="digits">{share(binary.share)}</span>
                  </span>
                  <div>
                    <p class="name">{clipped(binary.binary, 200)}</p>
                    {binary.reason === "" ? null : <p class="hint">{clipped(binary.reason, 400)}</p>}
                    <WhatHelps binary={binary.binary} buildId={binary.build_id} />
                  </div>
                </li>
              ))}
            </ol>
          </>
        );
      }}
    </Shown>
  );
}

function WhatHelps({ binary, buildId }: { binary: string; buildId: string }) {
  const { says, command } = helpFor(binary, buildId);
  const [isCopied, setCopied] = useState(false);
  return (
    <>
      <p>{says}</p>
      {command === "" ? null : (
        <p class="command">
          <code>{command}</code>
          <button
            type="button"
            aria-label={`Copy the command for ${clipped(binary, 60)}`}
            onClick={() => void copied("Command", command).then(setCopied)}
          >
            {isCopied ? "Copied" : "Copy"}
          </button>
          <span class="unseen" role="status">
            {isCopied ? "Copied" : ""}
          </span>
        </p>
      )}
    </>
  );
}
