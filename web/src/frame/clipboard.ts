/** The clipboard. */
import { Problem } from "../api/client.ts";
import { tell } from "../state/notices.ts";

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
