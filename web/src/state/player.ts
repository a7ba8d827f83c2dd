/** Steps through decoding: `address.step` from 0 to the number of steps less one. */
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { clampIndex } from "./address.ts";
import { address, go, trace } from "./store.ts";

/** Whether the steps are playing. */
export const playing = signal(false);

/** Steps per second. */
export const speed = signal(1.5);

/** How many steps there are; 0 without a trace. */
export const steps: ReadonlySignal<number> = computed(() => trace.value.value?.steps.length ?? 0);

/** The current step, never beyond the last. */
export const step: ReadonlySignal<number> = computed(() =>
  clampIndex(address.value.step, steps.value),
);

const exploring = computed(() => address.value.view === "explore");

function show(wanted: number): void {
  const at = clampIndex(wanted, steps.peek());
  if (at !== address.peek().step) go({ step: at }, { soon: true });
}

/** Play on; from the end, play from the start. */
export function play(): void {
  if (steps.peek() === 0) return;
  if (step.peek() >= steps.peek() - 1) show(0);
  playing.value = true;
}

/** Stop playing, and stay here. */
export function pause(): void {
  playing.value = false;
}

/** Play, or pause. */
export function toggle(): void {
  if (playing.peek()) pause();
  else play();
}

/** One step on. */
export function forward(): void {
  pause();
  show(step.peek() + 1);
}

/** One step back. */
export function back(): void {
  pause();
  show(step.peek() - 1);
}

/** To the first step. */
export function first(): void {
  pause();
  show(0);
}

/** To the last step. */
export function last(): void {
  pause();
  show(steps.peek() - 1);
}

/** To one step. */
export function jump(to: number): void {
  pause();
  show(to);
}

/** Begin to play when `playing` says so. Called once, by main. */
export function startPlayer(): void {
  effect(() => {
    if (!playing.value) return;
    if (!exploring.value) {
      pause();
      return;
    }
    const timer = setInterval(() => {
      if (step.peek() >= steps.peek() - 1) pause();
      else show(step.peek() + 1);
    }, 1000 / speed.value);
    return () => clearInterval(timer);
  });
}
