/** The course of a training run, from the lines of its metrics.jsonl; every function is pure. */

import type { RunEvent } from "../../api/types.ts";

/** What one or a few optimiser steps did; see `translucid.events.Trained`. */
interface Trained {
  event: "trained";
  step: number;
  loss: number;
  perplexity: number;
  tokens: number;
  seconds: number;
  learning_rate: number;
  gradient_norm: number;
  epoch: number;
}

/** A sentence of the dev set, its reference, and what the network makes of it. */
export interface Sample {
  source: string;
  reference: string;
  translation: string;
}

/** The scores on the dev set after a step; see `translucid.events.Validated`. */
interface Validated {
  event: "validated";
  step: number;
  loss: number;
  perplexity: number;
  bleu: number;
  chrf: number;
  signatures: string[];
  samples: Sample[];
  best: boolean;
}

/** A step in which the optimiser did nothing, and why. */
interface Skipped {
  event: "skipped";
  step: number;
  reason: string;
}

/** The lines of a run by their kind, in the order of the steps. */
export interface Course {
  trained: Trained[];
  validated: Validated[];
  skipped: Skipped[];
}

/** A value after this many steps. */
export interface Point {
  step: number;
  value: number;
}

/** A run of which nothing is known yet. */
export const NOTHING: Course = { trained: [], validated: [], skipped: [] };

/**
 * Return a course with more lines.
 *
 * A resumed run drops the lines after its checkpoint, so a line with an earlier step than the last
 * one of its kind replaces all that came after it.
 */
export function withEvents(course: Course, events: RunEvent[]): Course {
  const next = {
    trained: [...course.trained],
    validated: [...course.validated],
    skipped: [...course.skipped],
  };
  for (const event of events as unknown as (Trained | Validated | Skipped)[]) {
    if (event.event === "trained") {
      add(next.trained, event);
    } else if (event.event === "validated") {
      add(next.validated, event);
    } else if (event.event === "skipped") {
      add(next.skipped, event);
    }
  }
  return next;
}

function add<Kind extends { step: number }>(list: Kind[], event: Kind): void {
  while (list.length > 0 && (list.at(-1) as Kind).step >= event.step) {
    list.pop();
  }
  list.push(event);
}

/** Return the last step that a course tells of. */
export function lastStep(course: Course): number {
  return Math.max(0, course.trained.at(-1)?.step ?? 0, course.validated.at(-1)?.step ?? 0);
}

/** Return one quantity of training over its steps. */
export function trainedPoints(course: Course, value: (line: Trained) => number): Point[] {
  return course.trained.map((line) => ({ step: line.step, value: value(line) }));
}

/** Return one score of the dev set over the steps of validations. */
export function validatedPoints(course: Course, value: (line: Validated) => number): Point[] {
  return course.validated.map((line) => ({ step: line.step, value: value(line) }));
}

/**
 * Return at most this many points: neighbours are put together by their mean, which stands at the
 * last of their steps. Values that are not finite are left out.
 */
export function thinned(points: Point[], most: number): Point[] {
  const finite = points.filter(({ value }) => Number.isFinite(value));
  const size = Math.ceil(finite.length / most);
  if (size <= 1) {
    return finite;
  }
  const groups: Point[] = [];
  for (let begin = 0; begin < finite.length; begin += size) {
    const group = finite.slice(begin, begin + size);
    const sum = group.reduce((total, point) => total + point.value, 0);
    groups.push({ step: (group.at(-1) as Point).step, value: sum / group.length });
  }
  return groups;
}

/** Return the point whose step is nearest, the earlier of two. */
export function nearest(points: Point[], step: number): Point | null {
  let found: Point | null = null;
  for (const point of points) {
    if (found === null || Math.abs(point.step - step) < Math.abs(found.step - step)) {
      found = point;
    }
  }
  return found;
}

const RECENT = 20; // lines from which the speed is judged

/** Return the seconds a step has taken lately, without validations; null before two lines. */
export function secondsPerStep(course: Course): number | null {
  const lines = course.trained.slice(-RECENT - 1);
  const [first, last] = [lines[0], lines.at(-1)];
  if (!first || !last || last.step <= first.step) {
    return null;
  }
  const seconds = lines.slice(1).reduce((sum, line) => sum + line.seconds, 0);
  return seconds / (last.step - first.step);
}

/** Return the seconds until the last step at the recent speed; null where that is not known. */
export function secondsLeft(course: Course, maxSteps: number): number | null {
  const pace = secondsPerStep(course);
  return pace === null ? null : Math.max(0, maxSteps - lastStep(course)) * pace;
}

/** Return a time in two units at most, such as "3 h 20 min". */
export function duration(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (seconds < 90) {
    return `${Math.round(seconds)} s`;
  }
  if (minutes < 60) {
    return `${minutes} min`;
  }
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
}

/** One dev sentence, and what the network made of it at each validation. */
export interface SampleCourse {
  source: string;
  reference: string;
  versions: { step: number; translation: string }[];
}

/** Return the samples by sentence, in the order in which they first appear. */
export function samplesOverTime(course: Course): SampleCourse[] {
  const found = new Map<string, SampleCourse>();
  for (const { step, samples } of course.validated) {
    for (const { source, reference, translation } of samples) {
      const sentence = found.get(source) ?? { source, reference, versions: [] };
      sentence.versions.push({ step, translation });
      found.set(source, sentence);
    }
  }
  return [...found.values()];
}
