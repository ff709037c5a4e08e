/**
 * Reports text for people that is written in a template instead of the catalog in `src/texts`:
 * text nodes, and literals in attributes and component props that show text.
 */

const LETTER = /\p{L}/u;

/** Elements whose content is code and not text for people. */
const CODE_ELEMENTS = new Set(["code", "kbd", "pre", "script", "style"]);

const TEXT_ATTRIBUTES = new Set([
  "alt",
  "aria-description",
  "aria-label",
  "aria-placeholder",
  "aria-roledescription",
  "aria-valuetext",
  "label",
  "placeholder",
  "title",
  // Props of components.
  "action",
  "ariaLabel",
  "disabledReason",
  "error",
  "expired",
  "hint",
  "lead",
  "legend",
  "note",
]);

/** Returns the literals with letters that an expression can evaluate to. */
function findLiterals(expression) {
  switch (expression?.type) {
    case "Literal":
      return typeof expression.value === "string" && LETTER.test(expression.value)
        ? [expression]
        : [];
    case "TemplateLiteral":
      return expression.quasis.some((quasi) => LETTER.test(quasi.value.raw)) ? [expression] : [];
    case "ConditionalExpression":
      return [...findLiterals(expression.consequent), ...findLiterals(expression.alternate)];
    case "LogicalExpression":
    case "BinaryExpression":
      return isTextOperator(expression.operator)
        ? [...findLiterals(expression.left), ...findLiterals(expression.right)]
        : [];
    default:
      return [];
  }
}

function isTextOperator(operator) {
  return ["+", "||", "&&", "??"].includes(operator);
}

function isInCode(node) {
  for (let at = node.parent; at; at = at.parent) {
    if (at.type === "SvelteStyleElement" || at.type === "SvelteScriptElement") return true;
    if (at.type === "SvelteElement" && CODE_ELEMENTS.has(at.name.name)) return true;
  }
  return false;
}

/** Returns the name of the attribute or component prop that a node is the value of, if any. */
function attributeName(node) {
  return node.parent?.type === "SvelteAttribute" ? node.parent.key.name : undefined;
}

export default {
  meta: {
    type: "problem",
    docs: { description: "Requires text for people to be in src/texts." },
    messages: { literal: "Move this text to the catalog in src/texts." },
    schema: [],
  },
  create(context) {
    const report = (node) => context.report({ node, messageId: "literal" });
    return {
      SvelteText(node) {
        if (LETTER.test(node.value) && !isInCode(node)) report(node);
      },
      SvelteLiteral(node) {
        if (TEXT_ATTRIBUTES.has(attributeName(node)) && LETTER.test(node.value)) report(node);
      },
      SvelteMustacheTag(node) {
        const name = attributeName(node);
        const isText = name === undefined ? isContent(node) : TEXT_ATTRIBUTES.has(name);
        if (isText && !isInCode(node)) findLiterals(node.expression).forEach(report);
      },
    };
  },
};

/** Returns whether a mustache tag is content, and not part of a directive. */
function isContent(node) {
  return [
    "SvelteElement",
    "SvelteIfBlock",
    "SvelteElseBlock",
    "SvelteEachBlock",
    "SvelteAwaitPendingBlock",
    "SvelteAwaitThenBlock",
    "SvelteAwaitCatchBlock",
    "SvelteKeyBlock",
    "SvelteSnippetBlock",
    "Program",
  ].includes(node.parent?.type);
}
