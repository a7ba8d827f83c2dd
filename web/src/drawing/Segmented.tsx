/** A choice of one among few, as buttons side by side. */
interface SegmentedProps<T extends string> {
  label: string;
  choices: readonly { value: T; name: string; hint?: string }[];
  value: T;
  onChoose: (value: T) => void;
}

/** The buttons; the chosen one is pressed. */
export function Segmented<T extends string>(props: SegmentedProps<T>) {
  return (
    <div class="segmented" role="group" aria-label={props.label}>
      {props.choices.map(({ value, name, hint }) => (
        <button
          type="button"
          key={value}
          title={hint}
          aria-pressed={value === props.value}
          data-choice={value}
          onClick={() => props.onChoose(value)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
