// While no machine has sent anything: the exact commands.
import { daemonsAddress } from "../share.ts";

// After the command that starts a daemon.
export function UsualPort() {
  return <>7071 is the usual port for daemons (server.fleet_listen).</>;
}

export function FirstRun() {
  const daemons = daemonsAddress(location.hostname);
  const isLocal = /^(localhost|127\.0\.0\.1|\[::1\]):/.test(daemons);
  return (
    <section class="first-run">
      <h1>No machine has sent a profile yet</h1>
      <p>Three ways to see the first one:</p>
      <ol>
        <li>
          <p>
            Start the daemon on a machine, as root or with four capabilities. It registers itself and sends a
            profile within a minute.
          </p>
          <pre>
            <code>plimsolld --server {daemons}</code>
          </pre>
          <p class="hint">
            <UsualPort />
            {isLocal
              ? " This server listens on this machine only: other machines need its name, and authentication."
              : ""}
          </p>
        </li>
        <li>
          <p>Import what you have: perf.data, pprof, or a profile of plimsolld --once.</p>
          <pre>
            <code>plimsoll import --data DIR perf.data</code>
          </pre>
        </li>
        <li>
          <p>
            Or try it out with a known workload on this machine; it prints the address of a page like this
            one.
          </p>
          <pre>
            <code>plimsoll demo --keep</code>
          </pre>
        </li>
      </ol>
      <p class="hint">
        What a machine can measure: <code>plimsolld probe</code>. This page looks again every few seconds;{" "}
        nothing to reload.
      </p>
    </section>
  );
}
