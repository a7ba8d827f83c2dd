/** Files made in the page: SVG, PNG and CSV, by blob addresses (the page's policy allows those). */

import { Problem } from "../api/client.ts";
import { tell } from "../state/notices.ts";
import type { Picture } from "./svg.ts";

/** Rows of words and numbers. */
export interface Table {
  columns: string[];
  rows: (string | number)[][];
}

/** A table as CSV (RFC 4180). A text that a spreadsheet would run as a formula gets a quote. */
export function csv(table: Table): string {
  const lines = [table.columns, ...table.rows].map((row) => row.map(field).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function field(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Hand a file to the reader. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** An SVG file. */
export function svgFile(picture: Picture): Blob {
  return new Blob([picture.svg], { type: "image/svg+xml" });
}

/** The same picture as dots, twice as fine as the screen's. */
export async function pngFile(picture: Picture, scale = 2): Promise<Blob> {
  const url = URL.createObjectURL(svgFile(picture));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil(picture.width * scale);
    canvas.height = Math.ceil(picture.height * scale);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) =>
        blob ? resolve(blob) : reject(new Error("The picture is too large for PNG.")),
      );
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** A CSV file; the mark at its start tells spreadsheets that it is UTF-8. */
export function csvFile(table: Table): Blob {
  return new Blob(["\ufeff", csv(table)], { type: "text/csv" });
}

/* The clipboard. */

/** Copy a text; false: the browser does not allow it, which the page has told. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    tell(
      new Problem(0, "Not copied", "The browser does not let this page copy; select it instead."),
    );
    return false;
  }
}
