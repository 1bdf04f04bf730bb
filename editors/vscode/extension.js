// Starts `sears lsp` and shows what it says: findings while typing, formatting, what a place means
// and what may be written there.
// Plain JavaScript over the editor's own API: nothing to build, nothing to install.
"use strict";

const { spawn } = require("child_process");
const vscode = require("vscode");

// One process and the messages to and from it.
class Server {
  constructor(command, onNotification, onEnd) {
    this.pending = new Map();
    this.sent = 0;
    this.received = Buffer.alloc(0);
    this.onNotification = onNotification;
    this.process = spawn(command, ["lsp"], { stdio: ["pipe", "pipe", "pipe"] });
    this.complaint = "";
    this.process.stdout.on("data", (bytes) => this.take(bytes));
    this.process.stderr.on("data", (bytes) => (this.complaint += bytes));
    this.process.stdin.on("error", () => {}); // told by the exit of the process
    const end = (why) => {
      for (const { answer } of this.pending.values()) answer(null);
      this.pending.clear();
      onEnd(why);
    };
    this.process.on("error", (error) => end(error.message));
    this.process.on("exit", (code) => code && end(this.complaint || `exit code ${code}`));
    this.ready = this.request("initialize", {
      processId: process.pid,
      rootUri: null,
      capabilities: {},
    }).then(() => this.notify("initialized", {}));
  }

  take(bytes) {
    this.received = Buffer.concat([this.received, bytes]);
    for (;;) {
      const header = this.received.indexOf("\r\n\r\n");
      if (header < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.received.subarray(0, header))[1]);
      const end = header + 4 + length;
      if (this.received.length < end) return;
      const message = JSON.parse(this.received.subarray(header + 4, end));
      this.received = this.received.subarray(end);
      if (message.id === undefined) this.onNotification(message.method, message.params);
      else {
        const waiting = this.pending.get(message.id);
        this.pending.delete(message.id);
        if (!waiting) continue;
        // The editor shows why a rename was refused.
        if (message.error) waiting.refuse(new Error(message.error.message));
        else waiting.answer(message.result);
      }
    }
  }

  write(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  notify(method, params) {
    this.write({ method, params });
  }

  request(method, params) {
    const id = ++this.sent;
    return new Promise((answer, refuse) => {
      this.pending.set(id, { answer, refuse });
      this.write({ id, method, params });
    });
  }
}

function range(from) {
  const { start, end } = from;
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

function place({ line, character }) {
  return { line, character };
}

function symbol({ name, detail, kind, range: whole, selectionRange, children }) {
  // The editor counts kinds from 0, the protocol from 1.
  const shown = new vscode.DocumentSymbol(name, detail, kind - 1, range(whole), range(selectionRange));
  return Object.assign(shown, { children: children.map(symbol) });
}

function location({ uri, range: where }) {
  return new vscode.Location(vscode.Uri.parse(uri), range(where));
}

function workspaceEdit({ changes }) {
  const edit = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(changes))
    for (const each of edits) edit.replace(vscode.Uri.parse(uri), range(each.range), each.newText);
  return edit;
}

function diagnostic(found) {
  const severity =
    found.severity === 1 ? vscode.DiagnosticSeverity.Error : vscode.DiagnosticSeverity.Warning;
  const shown = new vscode.Diagnostic(range(found.range), found.message, severity);
  shown.code = found.code;
  shown.source = found.source;
  return shown;
}

function activate(context) {
  const command = vscode.workspace.getConfiguration("sears").get("command");
  const findings = vscode.languages.createDiagnosticCollection("sears");
  const output = vscode.window.createOutputChannel("sears");
  const server = new Server(
    command,
    (method, params) => {
      if (method === "textDocument/publishDiagnostics")
        findings.set(vscode.Uri.parse(params.uri), params.diagnostics.map(diagnostic));
      else if (method === "window/logMessage") output.appendLine(params.message);
    },
    (why) => {
      output.appendLine(why);
      vscode.window.showWarningMessage(
        `\`${command} lsp\` does not run (${why.trim()}): .sear files are coloured, but not ` +
          "checked. Install 'sears-dsl[lsp]', or say where it is in the setting sears.command."
      );
    }
  );
  const ours = (document) => document.languageId === "sears";
  const open = (document) => {
    if (!ours(document)) return;
    const uri = document.uri.toString();
    const { version } = document;
    server.notify("textDocument/didOpen", {
      textDocument: { uri, languageId: "sears", version, text: document.getText() },
    });
  };
  const ask = async (method, document, position, more = {}) => {
    await server.ready;
    const textDocument = { uri: document.uri.toString() };
    return server.request(method, { textDocument, position: place(position), ...more });
  };
  server.ready.then(() => vscode.workspace.textDocuments.forEach(open));
  context.subscriptions.push(
    findings,
    output,
    vscode.workspace.onDidOpenTextDocument((document) => server.ready.then(() => open(document))),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (!ours(document)) return;
      server.ready.then(() =>
        server.notify("textDocument/didChange", {
          textDocument: { uri: document.uri.toString(), version: document.version },
          contentChanges: [{ text: document.getText() }],
        })
      );
    }),
    vscode.workspace.onDidCloseTextDocument((document) => {
      if (!ours(document)) return;
      server.notify("textDocument/didClose", { textDocument: { uri: document.uri.toString() } });
    }),
    vscode.workspace.onDidSaveTextDocument((document) => {
      if (!ours(document)) return;
      const textDocument = { uri: document.uri.toString() };
      server.ready.then(() => server.notify("textDocument/didSave", { textDocument }));
    }),
    vscode.languages.registerDocumentFormattingEditProvider("sears", {
      async provideDocumentFormattingEdits(document, { tabSize, insertSpaces }) {
        await server.ready;
        const edits = await server.request("textDocument/formatting", {
          textDocument: { uri: document.uri.toString() },
          options: { tabSize, insertSpaces },
        });
        return (edits || []).map((edit) => vscode.TextEdit.replace(range(edit.range), edit.newText));
      },
    }),
    vscode.languages.registerHoverProvider("sears", {
      async provideHover(document, position) {
        const told = await ask("textDocument/hover", document, position);
        return told && new vscode.Hover(new vscode.MarkdownString(told.contents.value));
      },
    }),
    vscode.languages.registerCompletionItemProvider(
      "sears",
      {
        async provideCompletionItems(document, position) {
          const found = await ask("textDocument/completion", document, position);
          return (found || []).map(({ label, kind, detail }) =>
            // The editor counts kinds from 0, the protocol from 1.
            Object.assign(new vscode.CompletionItem(label, kind - 1), { detail })
          );
        },
      },
      ..."{@.="
    ),
    vscode.languages.registerDefinitionProvider("sears", {
      async provideDefinition(document, position) {
        const found = await ask("textDocument/definition", document, position);
        return found && location(found);
      },
    }),
    vscode.languages.registerReferenceProvider("sears", {
      async provideReferences(document, position, context) {
        const found = await ask("textDocument/references", document, position, { context });
        return (found || []).map(location);
      },
    }),
    vscode.languages.registerDocumentSymbolProvider("sears", {
      async provideDocumentSymbols(document) {
        await server.ready;
        const textDocument = { uri: document.uri.toString() };
        const found = await server.request("textDocument/documentSymbol", { textDocument });
        return (found || []).map(symbol);
      },
    }),
    vscode.languages.registerRenameProvider("sears", {
      async provideRenameEdits(document, position, newName) {
        const edit = await ask("textDocument/rename", document, position, { newName });
        return edit && workspaceEdit(edit);
      },
    }),
    vscode.languages.registerCodeActionsProvider("sears", {
      async provideCodeActions(document, { start, end }) {
        const found = await ask("textDocument/codeAction", document, start, {
          range: { start: place(start), end: place(end) },
          context: { diagnostics: [] },
        });
        return (found || []).map(({ title, kind, edit }) =>
          Object.assign(new vscode.CodeAction(title, vscode.CodeActionKind.Empty.append(kind)), {
            edit: workspaceEdit(edit),
          })
        );
      },
    }),
    { dispose: () => server.request("shutdown").then(() => server.notify("exit")) }
  );
}

module.exports = { activate };
