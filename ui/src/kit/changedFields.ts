/** Tracks which fields of a form a person has changed. */

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/**
 * Selects the fields of a form, except search fields: a person who loses the text of a search loses
 * no work.
 */
const FIELDS = ["input", "select", "textarea"]
  .map((field) => `${field}:not([type="search"], search *, [role="search"] *)`)
  .join(", ");

function read(field: Field): string {
  return field instanceof HTMLInputElement && /^(checkbox|radio)$/.test(field.type)
    ? String(field.checked)
    : field.value;
}

export class ChangedFields {
  private readonly before = new Map<Field, string>();
  private readonly changed = new Set<Field>();

  /** Whether a field that is still shown has another value than before a person changed it. */
  get any(): boolean {
    return [...this.changed].some(
      (field) => field.isConnected && read(field) !== this.before.get(field),
    );
  }

  /** Follows the fields of an element. Use it as an attachment. */
  readonly follow = (form: HTMLElement): void => {
    const remember = () => {
      for (const field of form.querySelectorAll<Field>(FIELDS))
        if (!this.changed.has(field)) this.before.set(field, read(field));
    };
    // Fields may appear at any time, and a form may fill itself in, so the values are read again at
    // each of these events. They come before the `input` event of a change.
    for (const event of ["pointerdown", "keydown", "focusin"])
      form.addEventListener(event, remember, { capture: true });
    form.addEventListener("input", ({ target }) => {
      if ((target as Element).matches(FIELDS)) this.changed.add(target as Field);
    });
    remember();
  };
}
