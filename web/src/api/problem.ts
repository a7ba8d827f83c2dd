/** What the server refused, in its own words (application/problem+json). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly type: string = "",
    readonly retryAfter: number | null = null,
  ) {
    super(detail || title);
    this.name = "Problem";
  }
}

/** Whether an error only says that a request was given up. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Any error as a Problem: one that is none keeps its message and gets the status 0. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const words = error instanceof Error ? error.message : String(error);
  return new Problem(0, "Something went wrong", words);
}

/** The Problem that a refusing response carries, whatever its body looks like. */
export async function readProblem(response: Response): Promise<Problem> {
  const body = await response.text();
  const wait = Number(response.headers.get("Retry-After") ?? Number.NaN);
  const retryAfter = Number.isFinite(wait) ? wait : null;
  const fields = parseFields(body);
  const title = text(fields.title) || response.statusText || `Error ${response.status}`;
  const detail = text(fields.detail) || faults(fields.faults) || body.slice(0, 300);
  return new Problem(response.status, title, detail, text(fields.type), retryAfter);
}

function parseFields(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function faults(value: unknown): string {
  if (!Array.isArray(value)) return "";
  return value.map((fault) => `${fault?.where ?? "?"}: ${fault?.problem ?? "?"}`).join("; ");
}
