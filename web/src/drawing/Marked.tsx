import type { Part } from "./differences.ts";
import "./marked.css";

/** A text in which what differs is marked: by a line and weight, not by colour alone. */
export function Marked({ parts, mark: Mark }: { parts: Part[]; mark: "ins" | "del" }) {
  if (parts.length === 0) return <i class="marked-nothing">nothing</i>;
  return (
    <span class="marked">
      {parts.map((part, place) => (part.same ? part.text : <Mark key={place}>{part.text}</Mark>))}
    </span>
  );
}
