/** How far a person is in a decision. */
export type Step = "choose" | "edit" | "more" | "always" | "deny";
