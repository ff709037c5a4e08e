/** The step of a decision that the card shows. */
export type Step = "choose" | "edit" | "more" | "always" | "deny";
