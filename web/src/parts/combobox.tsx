// A text field that proposes what there is, with the keyboard and the pointer (WAI-ARIA's pattern of a combobox with a list).
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { clipped } from "../format.ts";

export interface Proposal {
  text: string; // what the field takes
  shown?: string; // instead of it
  detail?: string;
  goesOn?: boolean; // the field is not complete with it: "job="
}

function fits(proposal: Proposal, typed: string): boolean {
  const last = typed.slice(Math.max(typed.lastIndexOf("="), typed.lastIndexOf(",")) + 1).toLowerCase();
  const starts = proposal.text.toLowerCase().startsWith(typed.toLowerCase());
  return (
    starts || (last !== typed.toLowerCase() && (proposal.shown ?? proposal.text).toLowerCase().includes(last))
  );
}

export function Combobox(props: {
  label: string;
  placeholder: string;
  propose: (text: string, signal: AbortSignal) => Promise<Proposal[]>;
  onPick: (text: string) => void;
  check?: (text: string) => string; // why the text cannot be taken; "": it can
  class?: string;
}) {
  const id = useId();
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [proposals, setProposals] = useState<Proposal[]>([]);
  const [chosen, setChosen] = useState<string>(); // a proposal's text
  const [wrong, setWrong] = useState("");
  const field = useRef<HTMLInputElement>(null);

  useEffect(() => {
    if (!isOpen) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(
      () => {
        props.propose(text, controller.signal).then(
          (found) => {
            if (!controller.signal.aborted) setProposals(found);
          },
          () => undefined, // without proposals the field still takes what is typed
        );
      },
      text === "" ? 0 : 120,
    );
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text, isOpen, props.propose]);

  // What was chosen stays so where the proposals that come later have it.
  const active = proposals.findIndex(({ text: of }) => of === chosen);
  const take = (value: string): void => {
    const why = props.check?.(value) ?? "";
    if (why !== "") {
      setWrong(why);
      return;
    }
    props.onPick(value);
    setText("");
    setChosen(undefined);
    setWrong("");
    setOpen(false);
  };
  const choose = (proposal: Proposal): void => {
    if (proposal.goesOn) {
      setText(proposal.text);
      setProposals([]);
      setChosen(undefined);
      field.current?.focus();
    } else {
      take(proposal.text);
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      const step = event.key === "ArrowDown" ? 1 : -1;
      const count = proposals.length + 1; // one of them: the field itself
      setChosen(proposals[((active + 1 + step + count) % count) - 1]?.text);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const proposal = proposals[active];
      if (proposal !== undefined) choose(proposal);
      else if (text.trim() !== "") take(text.trim());
    } else if (event.key === "Escape" && isOpen) {
      event.stopPropagation();
      setOpen(false);
    } else if (event.key === "Tab" && isOpen && active >= 0) {
      const proposal = proposals[active];
      if (proposal?.goesOn) {
        event.preventDefault();
        choose(proposal);
      }
    }
  };
  const shows = isOpen && proposals.length > 0;
  return (
    <div class={`combobox ${props.class ?? ""}`}>
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-label={props.label}
        aria-expanded={shows}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-invalid={wrong !== ""}
        aria-describedby={wrong === "" ? undefined : `${id}-wrong`}
        aria-activedescendant={shows && active >= 0 ? `${id}-${active}` : undefined}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        placeholder={props.placeholder}
        value={text}
        onInput={(event) => {
          const value = event.currentTarget.value;
          setText(value);
          // Until the new ones are there, those that fit: a key never chooses what is not typed.
          setProposals(proposals.filter((proposal) => fits(proposal, value)));
          setChosen(undefined);
          setWrong("");
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKeyDown}
      />
      <ul id={`${id}-list`} role="listbox" aria-label={props.label} hidden={!shows}>
        {proposals.map((proposal, i) => (
          <li
            key={proposal.text}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === active}
            // Before the field loses the focus.
            onPointerDown={(event) => {
              event.preventDefault();
              choose(proposal);
            }}
          >
            <span class="value">{clipped(proposal.shown ?? proposal.text, 120)}</span>
            {proposal.detail ? <span class="detail">{clipped(proposal.detail, 90)}</span> : null}
          </li>
        ))}
      </ul>
      {wrong === "" ? null : (
        <p class="wrong" id={`${id}-wrong`} role="alert">
          {wrong}
        </p>
      )}
    </div>
  );
}
