// Starts `kexec-lint server` and lets it speak with VS Code.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const LANGUAGES = ["python", "c", "cpp", "cuda-cpp", "opencl", "yaml"];
let client;

async function start() {
  const [command, ...args] = vscode.workspace.getConfiguration("kexec-lint").get("command");
  client = new LanguageClient(
    "kexec-lint",
    "kexec-lint",
    { command, args },
    {
      documentSelector: LANGUAGES.flatMap((language) => [
        { scheme: "file", language },
        { notebook: { scheme: "file", notebookType: "jupyter-notebook" }, language },
      ]),
      middleware: {
        workspace: {
          // `command` is for this extension alone; the server would call it unknown.
          configuration: async (params, token, next) =>
            (await next(params, token)).map((settings) => {
              const { command: _, ...rest } = settings ?? {};
              return rest;
            }),
        },
      },
    },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    vscode.window.showErrorMessage(
      `kexec-lint: ${[command, ...args].join(" ")} did not start: ${error.message}. ` +
        "Install it with pip install 'kexec-lint[lsp]' or set kexec-lint.command.",
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart() {
  await stop();
  await start();
}

exports.activate = async (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("kexec-lint.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("kexec-lint.command")) {
        return restart();
      }
    }),
  );
  await start();
};

exports.deactivate = stop;
