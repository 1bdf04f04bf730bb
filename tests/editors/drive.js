// A person at work: a file with a mistake is open, the mistake is mended, the file is formatted;
// then a function is completed and pointed at, a set is looked for and renamed, a fix is taken.
"use strict";

const vscode = require("vscode");
const extension = require(process.argv[2]);

const context = { subscriptions: [] };
const shown = vscode.shown;
let mended = false;
vscode.shown = async (found) => {
  shown(found);
  if (mended || found.length === 0) return;
  mended = true;
  vscode.document.text = "movie   -> film\n";
  vscode.handlers.change({ document: vscode.document });
  const edits = await vscode.formatter.provideDocumentFormattingEdits(vscode.document, {
    tabSize: 4,
    insertSpaces: true,
  });
  vscode.say("edits", edits);
  vscode.document.text = "movie -> $1.upper\n";
  vscode.handlers.change({ document: vscode.document });
  const place = { line: 0, character: 12 };
  vscode.say("completions", await vscode.completion.provideCompletionItems(vscode.document, place));
  vscode.say("hover", await vscode.hover.provideHover(vscode.document, place));
  vscode.document.text = "set WH = What\n@WH NUON -> it\n";
  vscode.handlers.change({ document: vscode.document });
  const used = { line: 1, character: 2 };
  vscode.say("definition", await vscode.definition.provideDefinition(vscode.document, used));
  const all = { includeDeclaration: true };
  vscode.say("references", await vscode.references.provideReferences(vscode.document, used, all));
  vscode.say("symbols", await vscode.symbols.provideDocumentSymbols(vscode.document));
  vscode.say("rename", await vscode.rename.provideRenameEdits(vscode.document, used, "WHO"));
  await vscode.rename
    .provideRenameEdits(vscode.document, used, "W H")
    .catch((error) => vscode.say("refused", error.message));
  const line = { start: used, end: used };
  vscode.say("actions", await vscode.actions.provideCodeActions(vscode.document, line));
  vscode.document.text = 'import "gone.sear" as g\n';
  vscode.handlers.change({ document: vscode.document });
  vscode.handlers.save(vscode.document);
  await vscode.symbols.provideDocumentSymbols(vscode.document);
  for (const each of context.subscriptions) if (each.dispose) each.dispose();
};
extension.activate(context);
