import { render } from "preact";
import { App } from "./app.tsx";
import { startShortcuts } from "./frame/shortcuts.ts";
import { startPlayer } from "./state/player.ts";
import { start } from "./state/store.ts";
import { startTheme } from "./state/theme.ts";
import { startTranslation } from "./translate/translation.ts";
import "./style/base.css";
import "./style/frame.css";
import "./style/drawing.css";
import "./style/translate.css";

startTheme();
start();
startPlayer();
startShortcuts();
startTranslation();
const root = document.getElementById("app");
if (root) render(<App />, root);
