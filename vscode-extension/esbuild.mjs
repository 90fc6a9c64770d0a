// Bundles the extension and the stack map's script. --production: minified.
import { build, context } from 'esbuild';

const production = process.argv.includes('--production');
const common = {
	bundle: true,
	minify: production,
	sourcemap: production ? false : 'linked',
	legalComments: 'none',
	logLevel: 'warning',
};
const bundles = [
	{
		...common,
		entryPoints: ['src/extension.ts'],
		outfile: 'dist/extension.cjs',
		platform: 'node',
		format: 'cjs',
		target: 'node20',
		external: ['vscode'],
	},
	{
		...common,
		entryPoints: ['src/webview/map.ts'],
		outfile: 'dist/map.js',
		platform: 'browser',
		format: 'iife',
		target: 'es2022',
	},
];

if (process.argv.includes('--watch')) {
	for (const b of bundles) await (await context(b)).watch();
} else {
	await Promise.all(bundles.map((b) => build(b)));
}
