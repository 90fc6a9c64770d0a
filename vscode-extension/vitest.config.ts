import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const fake = fileURLToPath(new URL('./test/unit/vscode.ts', import.meta.url));

export default defineConfig({
	test: {
		projects: [
			{
				resolve: { alias: { vscode: fake } },
				test: { name: 'unit', include: ['test/unit/**/*.test.ts'], environment: 'node', testTimeout: 120_000 },
			},
			{
				resolve: { alias: { vscode: fake } },
				test: {
					name: 'protocol',
					include: ['test/protocol/**/*.test.ts'],
					environment: 'node',
					testTimeout: 180_000,
					hookTimeout: 300_000,
					fileParallelism: false,
					globalSetup: ['test/protocol/setup.ts'],
				},
			},
		],
	},
});
