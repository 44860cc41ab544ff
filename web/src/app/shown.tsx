// A document by its view; as a tree where the view cannot read it.
import { Refusal } from "../data/ask";
import type { Shown } from "../data/documents";
import { Guard } from "../parts/guard";
import { ErrorBox } from "../parts/panel";
import { generic, viewOf } from "../views";

export function ShownDocument(shown: Shown) {
  const view = viewOf(shown.document.schema);
  return (
    <Guard
      key={shown.name}
      otherwise={(error) => (
        <>
          <ErrorBox error={new Refusal(`this document cannot be shown by ${view.title}: ${error.message}`, "data_loss", "here is what it holds; perhaps it is of another version")} />
          <generic.Show {...shown} />
        </>
      )}
    >
      <view.Show {...shown} />
    </Guard>
  );
}
