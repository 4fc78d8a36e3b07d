// What the parts of the start page share.
import { linkTo, address } from "../state.ts";
import type { Address } from "../address.ts";
import { withParameters } from "../address.ts";

export const REFRESH_MS = 30_000;

export function exploring(changes: Record<string, string | readonly string[]>): Address {
  return withParameters(
    { ...address.value, page: "explore", show: "table", sort: "", find: "", zoom: "" },
    changes,
  );
}

export function PanelHeading(props: { id: string; text: string; to?: Address; more?: string }) {
  return (
    <div class="panel-heading">
      <h2 id={props.id}>{props.text}</h2>
      {props.to === undefined ? null : <a {...linkTo(props.to)}>{props.more}</a>}
    </div>
  );
}
