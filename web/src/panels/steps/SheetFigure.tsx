/** The sheet as a figure that can be saved. */
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { sheetPicture, sheetTable } from "./picture.ts";
import { Sheet, type SheetProps } from "./Sheet.tsx";

/** The table with its title, caption and save menu. */
export function SheetFigure(props: SheetProps & { title: string }) {
  const { title, ...sheet } = props;
  return (
    <Figure
      name="attention-in-six-steps"
      title={title}
      caption={
        <>
          A row is a word that can be looked at; pick one to see it worked out. A cell of a strip is
          one of the vector's numbers: click one to follow that dimension.
        </>
      }
      picture={() => sheetPicture({ title, ...sheet }, palette())}
      table={() => sheetTable(sheet)}
    >
      <Sheet {...sheet} />
    </Figure>
  );
}
