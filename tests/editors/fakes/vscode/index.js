// As much of the editor as the extension uses: one open rule file, and what is shown about it.
"use strict";

const document = {
  languageId: "sears",
  uri: { toString: () => "file:///rules.sear" },
  version: 1,
  text: "movie   -> film\nWhat NUON -> it\n",
  getText: () => document.text,
};
const told = (event) => (handler) => {
  exports.handlers[event] = handler;
  return {};
};
const say = (kind, content) => console.log(JSON.stringify({ kind, content }));

Object.assign(exports, {
  document,
  say,
  handlers: {},
  Range: class {
    constructor(...places) {
      this.places = places;
    }
  },
  Diagnostic: class {
    constructor(range, message, severity) {
      Object.assign(this, { range, message, severity });
    }
  },
  MarkdownString: class {
    constructor(value) {
      this.value = value;
    }
  },
  Hover: class {
    constructor(contents) {
      this.contents = contents;
    }
  },
  CompletionItem: class {
    constructor(label, kind) {
      Object.assign(this, { label, kind });
    }
  },
  DocumentSymbol: class {
    constructor(name, detail, kind, range, selectionRange) {
      Object.assign(this, { name, detail, kind, range, selectionRange });
    }
  },
  Location: class {
    constructor(uri, range) {
      Object.assign(this, { uri, range });
    }
  },
  WorkspaceEdit: class {
    constructor() {
      this.edits = [];
    }
    replace(uri, range, text) {
      this.edits.push({ uri, range, text });
    }
  },
  CodeAction: class {
    constructor(title, kind) {
      Object.assign(this, { title, kind });
    }
  },
  CodeActionKind: { Empty: { append: (kind) => kind } },
  DiagnosticSeverity: { Error: 0, Warning: 1 },
  Uri: { parse: (text) => text },
  TextEdit: { replace: (range, text) => ({ range, text }) },
  workspace: {
    getConfiguration: () => ({ get: () => process.env.SEARS_COMMAND }),
    textDocuments: [document],
    onDidOpenTextDocument: told("open"),
    onDidChangeTextDocument: told("change"),
    onDidCloseTextDocument: told("close"),
    onDidSaveTextDocument: told("save"),
  },
  window: {
    createOutputChannel: () => ({ appendLine: (line) => say("log", line) }),
    showWarningMessage: (message) => say("warning", message),
  },
  languages: {
    createDiagnosticCollection: () => ({ set: (_, found) => exports.shown(found) }),
    registerHoverProvider: (_, provider) => {
      exports.hover = provider;
      return {};
    },
    registerCompletionItemProvider: (_, provider, ...triggers) => {
      exports.completion = provider;
      say("triggers", triggers);
      return {};
    },
    registerDefinitionProvider: (_, provider) => {
      exports.definition = provider;
      return {};
    },
    registerReferenceProvider: (_, provider) => {
      exports.references = provider;
      return {};
    },
    registerDocumentSymbolProvider: (_, provider) => {
      exports.symbols = provider;
      return {};
    },
    registerRenameProvider: (_, provider) => {
      exports.rename = provider;
      return {};
    },
    registerCodeActionsProvider: (_, provider) => {
      exports.actions = provider;
      return {};
    },
    registerDocumentFormattingEditProvider: (_, provider) => {
      exports.formatter = provider;
      return {};
    },
  },
  shown: (found) => say("findings", found),
});
