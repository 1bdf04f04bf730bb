// A person at work: a file with a mistake is open, the mistake is mended, the file is formatted;
// then a function is completed and pointed at.
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
  const edits = await vscode.formatter.provideDocumentFormattingEdits(vscode.document);
  vscode.say("edits", edits);
  vscode.document.text = "movie -> $1.upper\n";
  vscode.handlers.change({ document: vscode.document });
  const place = { line: 0, character: 12 };
  vscode.say("completions", await vscode.completion.provideCompletionItems(vscode.document, place));
  vscode.say("hover", await vscode.hover.provideHover(vscode.document, place));
  for (const each of context.subscriptions) if (each.dispose) each.dispose();
};
extension.activate(context);
