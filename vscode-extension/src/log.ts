// The output channel "Clew", made when there is something to say.

import * as vscode from 'vscode';

export class Log implements vscode.Disposable {
	private channel: vscode.OutputChannel | undefined;

	private get out(): vscode.OutputChannel {
		this.channel ??= vscode.window.createOutputChannel('Clew');
		return this.channel;
	}

	line(text: string): void {
		this.out.appendLine(text);
	}

	text(text: string): void {
		this.out.append(text);
	}

	show(): void {
		this.out.show(true);
	}

	dispose(): void {
		this.channel?.dispose();
	}
}
