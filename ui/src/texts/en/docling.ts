/** Texts about the conversion of documents, in the settings. */

export const docling = {
  hint: "Clients can have PDFs and other documents converted into text with Docling. The first start installs its package, which takes several GB. The policy and profiles apply to the server “docling-tools”.",
  enabled: "Convert documents",
};
