/** The view that looks inside: panels at the side, the open one, the steps at the bottom. */
import { Changes } from "./Changes.tsx";
import { PanelHost } from "./PanelHost.tsx";
import { SideNav } from "./SideNav.tsx";
import { Timeline } from "./Timeline.tsx";

/** The view. */
export function Explore() {
  return (
    <>
      <div class="explore">
        <SideNav />
        <main id="content" tabIndex={-1}>
          <h1 class="visually-hidden">Look inside a translation</h1>
          <PanelHost />
        </main>
      </div>
      <div class="explore-foot">
        <Changes />
        <Timeline />
      </div>
    </>
  );
}
