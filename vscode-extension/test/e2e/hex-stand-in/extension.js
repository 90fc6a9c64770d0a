// Shows the first bytes of a file, and writes what a session says of its modules.

const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const vscode = require('vscode');

/** How many bytes are shown. */
const shown = 16;

const editor = {
	openCustomDocument: (uri) => ({ uri, dispose() {} }),
	async resolveCustomEditor({ uri }, panel) {
		const bytes = await vscode.workspace.fs.readFile(uri.with({ query: `range=0:${shown}` }));
		const text = [...bytes].map((b) => b.toString(16).padStart(2, '0')).join(' ');
		panel.webview.html = `<!DOCTYPE html><pre>${text}</pre>`;
	},
};

/** Writes the answer beside launch.json. */
async function modules() {
	const answer = await vscode.debug.activeDebugSession.customRequest('modules', {});
	const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
	writeFileSync(join(folder, '.vscode/modules.json'), JSON.stringify(answer.modules));
}

exports.activate = (context) => {
	context.subscriptions.push(
		vscode.window.registerCustomEditorProvider('hexEditor.hexedit', editor),
		vscode.commands.registerCommand('hexStandIn.modules', modules),
	);
};
